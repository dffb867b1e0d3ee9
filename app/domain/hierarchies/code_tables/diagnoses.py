"""The chapters of ICD-10 and ICD-9-CM and the blocks of ICD-10, by the categories that they span.

ICD-10 is the World Health Organization's version of 2019. A block is the narrowest range of categories that
the classification groups: malignant neoplasms, for one, are grouped by site. Only the ranges are here, no
titles.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_ICD_10: Final = """
I A00-B99: A00-A09 A15-A19 A20-A28 A30-A49 A50-A64 A65-A69 A70-A74 A75-A79 A80-A89 A92-A99
I A00-B99: B00-B09 B15-B19 B20-B24 B25-B34 B35-B49 B50-B64 B65-B83 B85-B89 B90-B94 B95-B98 B99-B99
II C00-D48: C00-C14 C15-C26 C30-C39 C40-C41 C43-C44 C45-C49 C50-C50 C51-C58 C60-C63 C64-C68 C69-C72
II C00-D48: C73-C75 C76-C80 C81-C96 C97-C97 D00-D09 D10-D36 D37-D48
III D50-D89: D50-D53 D55-D59 D60-D64 D65-D69 D70-D77 D80-D89
IV E00-E90: E00-E07 E10-E14 E15-E16 E20-E35 E40-E46 E50-E64 E65-E68 E70-E90
V F00-F99: F00-F09 F10-F19 F20-F29 F30-F39 F40-F48 F50-F59 F60-F69 F70-F79 F80-F89 F90-F98 F99-F99
VI G00-G99: G00-G09 G10-G14 G20-G26 G30-G32 G35-G37 G40-G47 G50-G59 G60-G64 G70-G73 G80-G83 G90-G99
VII H00-H59: H00-H06 H10-H13 H15-H22 H25-H28 H30-H36 H40-H42 H43-H45 H46-H48 H49-H52 H53-H54 H55-H59
VIII H60-H95: H60-H62 H65-H75 H80-H83 H90-H95
IX I00-I99: I00-I02 I05-I09 I10-I15 I20-I25 I26-I28 I30-I52 I60-I69 I70-I79 I80-I89 I95-I99
X J00-J99: J00-J06 J09-J18 J20-J22 J30-J39 J40-J47 J60-J70 J80-J84 J85-J86 J90-J94 J95-J99
XI K00-K93: K00-K14 K20-K31 K35-K38 K40-K46 K50-K52 K55-K64 K65-K67 K70-K77 K80-K87 K90-K93
XII L00-L99: L00-L08 L10-L14 L20-L30 L40-L45 L50-L54 L55-L59 L60-L75 L80-L99
XIII M00-M99: M00-M03 M05-M14 M15-M19 M20-M25 M30-M36 M40-M43 M45-M49 M50-M54 M60-M63 M65-M68 M70-M79
XIII M00-M99: M80-M85 M86-M90 M91-M94 M95-M99
XIV N00-N99: N00-N08 N10-N16 N17-N19 N20-N23 N25-N29 N30-N39 N40-N51 N60-N64 N70-N77 N80-N98 N99-N99
XV O00-O99: O00-O08 O10-O16 O20-O29 O30-O48 O60-O75 O80-O84 O85-O92 O94-O99
XVI P00-P96: P00-P04 P05-P08 P10-P15 P20-P29 P35-P39 P50-P61 P70-P74 P75-P78 P80-P83 P90-P96
XVII Q00-Q99: Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q34 Q35-Q37 Q38-Q45 Q50-Q56 Q60-Q64 Q65-Q79 Q80-Q89 Q90-Q99
XVIII R00-R99: R00-R09 R10-R19 R20-R23 R25-R29 R30-R39 R40-R46 R47-R49 R50-R69 R70-R79 R80-R82 R83-R89
XVIII R00-R99: R90-R94 R95-R99
XIX S00-T98: S00-S09 S10-S19 S20-S29 S30-S39 S40-S49 S50-S59 S60-S69 S70-S79 S80-S89 S90-S99
XIX S00-T98: T00-T07 T08-T14 T15-T19 T20-T25 T26-T28 T29-T32 T33-T35 T36-T50 T51-T65 T66-T78 T79-T79
XIX S00-T98: T80-T88 T90-T98
XX V01-Y98: V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V79 V80-V89 V90-V94 V95-V97
XX V01-Y98: V98-V99 W00-W19 W20-W49 W50-W64 W65-W74 W75-W84 W85-W99 X00-X09 X10-X19 X20-X29 X30-X39
XX V01-Y98: X40-X49 X50-X57 X58-X59 X60-X84 X85-Y09 Y10-Y34 Y35-Y36 Y40-Y59 Y60-Y69 Y70-Y82 Y83-Y84
XX V01-Y98: Y85-Y89 Y90-Y98
XXI Z00-Z99: Z00-Z13 Z20-Z29 Z30-Z39 Z40-Z54 Z55-Z65 Z70-Z76 Z80-Z99
XXII U00-U99: U00-U49 U82-U85
"""

_ICD_9: Final = """
001-139 140-239 240-279 280-289 290-319 320-389 390-459 460-519 520-579 580-629 630-679 680-709 710-739
740-759 760-779 780-799 800-999 E000-E999 V01-V91
"""


def _icd_10_blocks() -> tuple[tuple[str, str, str], ...]:
    """First category, block and chapter of every block, in the order of the codes."""
    blocks = []
    for line in _ICD_10.strip().splitlines():
        chapter, ranges = line.split(": ")
        blocks += [(block[:3], block, chapter) for block in ranges.split(" ")]
    return tuple(sorted(blocks))


ICD_10_BLOCKS: Final = _icd_10_blocks()
"""First category, block and chapter: ``("I20", "I20-I25", "IX I00-I99")``."""

_FIRST: Final = [first for first, _, _ in ICD_10_BLOCKS]

ICD_9_CHAPTERS: Final = tuple(_ICD_9.split())
"""The 17 chapters of diseases, then those of external causes and of other reasons for contact."""


def icd_10_block(category: str) -> tuple[str, str] | None:
    """Block and chapter of a category of a letter and two digits, or None where there is none."""
    place = bisect_right(_FIRST, category)
    if not place:
        return None
    _, block, chapter = ICD_10_BLOCKS[place - 1]
    return (block, chapter) if category <= block[-3:] else None


def icd_9_chapter(category: str) -> str | None:
    """The chapter of a category: three digits, E and three digits, or V and two; None where there is none."""
    for chapter in ICD_9_CHAPTERS:
        first, last = chapter.split("-")
        if len(category) == len(first) and first <= category <= last:
            return chapter
    return None
