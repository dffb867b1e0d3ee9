"""Words that tables often have, in English and German, with the groups that they belong to.

A line is a group, a broader group, and values; spellings differ in capitals, accents and signs between words
only. A vocabulary ``of names`` holds whole values, one ``of words`` what is to stand somewhere in a value, of
which the longest counts, and of equally long ones the last. No group is called like a value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

VocabularyName = Literal[
    "education",
    "marital_status",
    "occupations",
    "departments",
    "industries",
    "employment",
    "relationships",
    "weekdays",
    "countries",
    "regions",
]
Language = Literal["en", "de"]

_OF_WORDS: Final = ("occupations", "departments", "industries")
_LONGEST: Final = 4
_LETTERS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "é": "e", "'": "", "’": "", ".": ""})

_TABLES: Final[Mapping[tuple[VocabularyName, Language], str]] = {
    ("education", "en"): """
up to grade 8 < below a school degree: preschool, no schooling, no formal education, kindergarten, \
primary, primary school, primary education, elementary, elementary school, incomplete primary, 1st 4th, \
5th 6th, 7th 8th, grade school, 8th grade or less, less than 9th grade, some primary
grades 9 to 12 < below a school degree: 9th, 10th, 11th, 12th, 9th grade, 10th grade, 11th grade, 12th \
grade, less than high school, some high school, lower secondary, lower secondary education, middle school, \
incomplete secondary, no high school diploma, high school incomplete, no degree, below high school, basic
school degree < school degree or training: hs grad, high school, high school graduate, high school \
diploma, high school degree, high school or equivalent, ged, secondary, secondary school, secondary \
education, upper secondary, upper secondary education, secondary secondary special, a level, a levels, \
gcse, hs
college or training < school degree or training: some college, some college no degree, assoc acdm, assoc \
voc, associate, associates, associate degree, associates degree, junior college, community college, \
vocational, vocational training, vocational school, trade school, apprenticeship, certificate, \
professional course, technical school, post secondary, incomplete higher, some university, college
first degree < degree of a university: bachelors, bachelor, bachelor degree, bachelors degree, ba, bs, \
bsc, undergraduate, undergraduate degree, college degree, college graduate, university degree, university, \
higher education, higher, tertiary, university graduate, 4 year degree
further degree < degree of a university: masters, master, master degree, masters degree, msc, ma, ms, mba, \
graduate, graduate degree, graduate school, postgraduate, post graduate, advanced degree, prof school, \
professional degree, doctorate, doctoral degree, doctor, phd, md, jd, academic degree
""",
    ("education", "de"): """
höchstens Pflichtschule < ohne Berufsabschluss: ohne abschluss, ohne schulabschluss, kein abschluss, kein \
schulabschluss, keiner, grundschule, hauptschule, hauptschulabschluss, volksschule, volksschulabschluss, \
pflichtschule, förderschule, sonderschule
mittlerer Schulabschluss < ohne Berufsabschluss: realschule, realschulabschluss, mittlere reife, \
mittelschule, mittlerer abschluss, sekundarschule, gesamtschule, 10 klasse, polytechnische oberschule, pos
Hochschulzugang < ohne Berufsabschluss: abitur, fachabitur, hochschulreife, allgemeine hochschulreife, \
fachhochschulreife, matura, gymnasium, fachoberschule, schüler, schülerin
beruflicher Abschluss < mit Berufsabschluss: ausbildung, berufsausbildung, lehre, lehrabschluss, \
berufsschule, berufsfachschule, abgeschlossene ausbildung, abgeschlossene berufsausbildung, duale \
ausbildung, meister, techniker, meister techniker, fachwirt, fachschule, fachschulabschluss
Hochschulabschluss < mit Berufsabschluss: bachelor, master, diplom, magister, staatsexamen, hochschule, \
studium, universität, fachhochschule, diplom fh, fachhochschulabschluss, universitätsabschluss, \
akademiker, promotion, doktor, dr, habilitation, hochschulstudium
""",
    ("marital_status", "en"): """
with a spouse or partner < living with somebody: married, married civ spouse, married af spouse, \
remarried, civil partnership, registered partnership, domestic partnership, domestic partner, cohabiting, \
living together, partnered, partner, civil union, common law, married or partnered, civil marriage, living \
with partner
no longer with a spouse < living without: divorced, separated, legally separated, widowed, widow, widower, \
married spouse absent, formerly married, annulled, divorced separated, divorced or separated
never with a spouse < living without: never married, single, unmarried, not married, single not married, \
single never married
""",
    ("marital_status", "de"): """
in Ehe oder Partnerschaft < zu zweit: verheiratet, verheiratet zusammenlebend, verpartnert, eingetragene \
lebenspartnerschaft, lebenspartnerschaft, eheähnlich, eheähnliche gemeinschaft, wiederverheiratet, in \
partnerschaft, vh
nicht mehr in Ehe < nicht zu zweit: geschieden, verwitwet, getrennt, getrennt lebend, dauernd getrennt \
lebend, verheiratet getrennt lebend, witwe, witwer, gs, vw, lebenspartnerschaft aufgehoben
nie in Ehe < nicht zu zweit: ledig, alleinstehend, unverheiratet, nicht verheiratet, ld
""",
    ("occupations", "en"): """
managing work < office work: manager, managers, management, managerial, exec managerial, executive, \
director, chief, head, president, ceo, cfo, cto, supervisor, superintendent, principal, owner, \
administrator, business finance, vice president, vp, team lead
professional work < office work: professional, professionals, prof specialty, engineer, developer, \
programmer, architect, scientist, analyst, consultant, teacher, professor, lecturer, lawyer, attorney, \
doctor, physician, surgeon, nurse, pharmacist, dentist, therapist, psychologist, accountant, auditor, \
economist, designer, writer, editor, journalist, researcher, research scientist, librarian, social worker, \
actuary, statistician, artist, data scientist, veterinarian, specialist, counselor, instructor, \
controller, high skill tech staff, it staff, healthcare representative, human resources, recruiter, \
medicine staff
technical or clerical work < office work: tech support, technician, laboratory technician, paralegal, \
assistant, administrative assistant, clerk, secretary, receptionist, adm clerical, clerical, bookkeeper, \
cashier, teller, office and administrative support, coordinator, associate, paramedic, inspector, planner, \
dispatcher, administrative, technical, buyer, representative, underwriter, intern, trainee, accountants, \
secretaries, hr staff
services or sales < service work: sales, salesperson, salesman, sales representative, sales executive, \
realty agents, agent, other service, service, services, waiter, waitress, cook, chef, bartender, barber, \
hairdresser, priv house serv, caregiver, caretaker, nanny, housekeeper, protective serv, police officer, \
police, officer, sergeant, detective, firefighter, guard, security guard, armed forces, soldier, military, \
flight attendant, retail, sales staff, private service staff, cooking staff, security staff, waiters \
barmen staff, merchandiser, hospitality
crafts or building < manual work: craft repair, carpenter, plumber, electrician, mechanic, welder, \
painter, mason, baker, butcher, tailor, machinist, roofer, construction, construction extraction, repair, \
installer, trades, installation maintenance and repair, craftsman, bricklayer, plasterer
machines, transport or farming < manual work: machine op inspct, operator, machine operator, driver, \
drivers, pilot, production, transport moving, transportation, truck driver, conductor, assembler, farming \
fishing, farmer, fisherman, gardener, farming fishing and forestry, logger, miner, factory worker, bus \
driver, transit operator
helping work < manual work: handlers cleaners, cleaner, cleaners, janitor, laborer, labourer, labor, \
labourers, laborers, laborer general, helper, custodian, packer, porter, maid, dishwasher, warehouse \
worker, low skill laborers, cleaning staff, kitchen helper, worker
""",
    ("occupations", "de"): """
Leitung < Büro: leiter, leiterin, leitung, abteilungsleiter, abteilungsleiterin, filialleiter, \
filialleiterin, geschäftsführer, geschäftsführerin, direktor, direktorin, manager, managerin, vorstand, \
unternehmer, unternehmerin, teamleiter, teamleiterin, projektleiter, projektleiterin, führungskraft, \
schulleiter
akademische Arbeit < Büro: ingenieur, ingenieurin, arzt, ärztin, zahnarzt, zahnärztin, lehrer, lehrerin, \
anwalt, anwältin, rechtsanwalt, rechtsanwältin, jurist, juristin, architekt, architektin, informatiker, \
informatikerin, entwickler, entwicklerin, softwareentwickler, softwareentwicklerin, wissenschaftler, \
wissenschaftlerin, apotheker, apothekerin, psychologe, psychologin, journalist, journalistin, \
steuerberater, steuerberaterin, berater, beraterin, professor, professorin, richter, richterin, tierarzt, \
tierärztin, analyst
Fachkraft im Büro < Büro: kaufmann, kauffrau, bürokaufmann, bürokauffrau, bankkaufmann, bankkauffrau, \
industriekaufmann, industriekauffrau, sachbearbeiter, sachbearbeiterin, sekretär, sekretärin, buchhalter, \
buchhalterin, assistent, assistentin, beamter, beamtin, verwaltungsangestellte, verwaltungsangestellter, \
angestellte, angestellter, controller, controllerin, techniker, technikerin, laborant, laborantin, \
zeichner
Pflege, Dienste oder Verkauf < Dienst am Menschen: krankenpfleger, krankenschwester, pflegekraft, pfleger, \
pflegerin, altenpfleger, altenpflegerin, pflegefachkraft, pflegefachmann, pflegefachfrau, erzieher, \
erzieherin, verkäufer, verkäuferin, friseur, friseurin, frisör, koch, köchin, kellner, kellnerin, \
polizist, polizistin, feuerwehrmann, soldat, soldatin, sozialarbeiter, sozialarbeiterin, hebamme, \
physiotherapeut, physiotherapeutin, arzthelferin, medizinische fachangestellte, zahnarzthelferin, \
kassierer, kassiererin, hausmeister, hausmeisterin
Handwerk oder Bau < Arbeit mit der Hand: elektriker, elektrikerin, schlosser, schlosserin, mechaniker, \
mechanikerin, mechatroniker, mechatronikerin, kfz mechatroniker, tischler, tischlerin, schreiner, \
schreinerin, maler, malerin, maurer, maurerin, bäcker, bäckerin, metzger, fleischer, dachdecker, klempner, \
installateur, zimmermann, zimmerer, schneider, schneiderin, schweißer, monteur, handwerker, handwerkerin
Maschinen, Verkehr oder Land < Arbeit mit der Hand: fahrer, fahrerin, lkw fahrer, lkw fahrerin, busfahrer, \
busfahrerin, kraftfahrer, kraftfahrerin, taxifahrer, lokführer, maschinenführer, maschinenführerin, \
anlagenführer, landwirt, landwirtin, bauer, bäuerin, gärtner, gärtnerin, winzer, förster, pilot, lagerist
Hilfsarbeit < Arbeit mit der Hand: reinigungskraft, raumpflegerin, putzkraft, lagerarbeiter, \
lagerarbeiterin, helfer, helferin, hilfsarbeiter, hilfsarbeiterin, küchenhilfe, arbeiter, arbeiterin, \
produktionshelfer, produktionshelferin, bote, paketbote, zusteller, zustellerin
""",
    ("departments", "en"): """
administration < inner services: hr, human resources, people, personnel, finance, financial, accounting, \
payroll, legal, law, compliance, audit, admin, administration, administrative, executive, executive \
office, management, board, facilities, office, purchasing, procurement, controlling, treasury, revenue, \
budget, admin offices, mayors office, city council, clerk
computing or research < inner services: it, information technology, it is, technology, engineering, \
software engineering, software, research, r d, research development, research and development, data, \
innovation, product, product management, design, development, quality, science
sales or customers < dealing with customers: sales, marketing, customer service, customer support, \
support, business development, services, service, communications, public relations, advertising, retail, \
training, account management, commercial, ecommerce
making or moving goods < work on goods: production, manufacturing, operations, logistics, warehouse, \
shipping, supply chain, maintenance, transport, transportation, assembly, construction, fleet, \
distribution, packing
public works < public services: water, water management, streets, streets san, public works, aviation, \
airport, parks, sanitation, utilities, transit, housing, buildings, environment, planning, recreation, \
general services
safety, health or schools < public services: police, fire, sheriff, corrections, health, public health, \
hospital, nursing, emergency, library, public library, education, schools, social services, human \
services, justice, courts, family support, oemc, animal care, pharmacy, surgery, cardiology, radiology, \
emergency management
""",
    ("departments", "de"): """
Verwaltung < innere Dienste: verwaltung, personal, personalabteilung, finanzen, buchhaltung, controlling, \
recht, rechtsabteilung, einkauf, geschäftsführung, geschäftsleitung, sekretariat, revision, hr, zentrale, \
kämmerei
Technik oder Forschung < innere Dienste: it, edv, technik, entwicklung, forschung, forschung und \
entwicklung, fue, konstruktion, qualität, qualitätssicherung, informatik, labor, softwareentwicklung
Vertrieb oder Kunden < Dienste für andere: vertrieb, verkauf, marketing, kundendienst, kundenservice, \
service, außendienst, öffentlichkeitsarbeit, kommunikation, export, innendienst
Herstellung oder Lager < Arbeit an Waren: produktion, fertigung, montage, lager, logistik, versand, \
werkstatt, instandhaltung, fuhrpark, bau, bauhof, küche, haustechnik
Medizin, Soziales oder Ordnung < Dienste für andere: innere medizin, chirurgie, pflege, radiologie, \
kardiologie, neurologie, gynäkologie, geburtshilfe, pädiatrie, orthopädie, urologie, onkologie, \
anästhesie, intensivstation, notaufnahme, ambulanz, geriatrie, psychiatrie, augenheilkunde, hno, \
dermatologie, unfallchirurgie, soziales, jugendamt, schule, ordnungsamt, feuerwehr, polizei
""",
    ("industries", "en"): """
farming, mining or energy < producing goods: agriculture, farming, forestry, fishing, mining, oil, gas, \
energy, utilities, electricity, water, quarrying, environment
manufacturing or building < producing goods: manufacturing, construction, building, automotive, chemicals, \
chemical, pharmaceutical, pharmaceuticals, food, textile, textiles, steel, electronics, machinery, \
aerospace
trade, transport or tourism < services to customers: retail, wholesale, trade, transport, transportation, \
logistics, storage, hospitality, accommodation, hotel, restaurants, restaurant, tourism, travel, ecommerce
information, money or business < services to customers: information, it, technology, software, \
telecommunications, telecom, media, finance, financial, banking, bank, insurance, real estate, consulting, \
business, professional, legal, marketing, advertising, services, entertainment, arts, recreation, other \
services
public or social services < services to the public: health, healthcare, health care, education, \
government, public administration, public sector, defense, defence, military, police, social, social work, \
nonprofit, non profit, medicine, school, kindergarten, university, security ministries
""",
    ("industries", "de"): """
Land, Bergbau oder Energie < Herstellung: landwirtschaft, forstwirtschaft, fischerei, bergbau, energie, \
energieversorgung, wasser, wasserversorgung, entsorgung
Gewerbe oder Bau < Herstellung: industrie, verarbeitendes gewerbe, produktion, bau, baugewerbe, handwerk, \
automobil, automobilindustrie, chemie, pharma, maschinenbau, elektro, elektrotechnik, lebensmittel, \
metall, textil
Handel, Verkehr oder Tourismus < Dienste für Kunden: handel, einzelhandel, großhandel, verkehr, transport, \
logistik, gastgewerbe, gastronomie, hotel, tourismus, lagerei
Information, Geld oder Beratung < Dienste für Kunden: it, informatik, information, telekommunikation, \
medien, bank, banken, finanzen, versicherung, versicherungen, immobilien, beratung, dienstleistung, \
dienstleistungen, kunst, unterhaltung, marketing
öffentliche Dienste < Dienste für alle: gesundheit, gesundheitswesen, soziales, sozialwesen, erziehung, \
bildung, unterricht, öffentlicher dienst, öffentliche verwaltung, verwaltung, verteidigung, polizei, \
wissenschaft
""",
    ("employment", "en"): """
employed by others < in work: private, employee, employed, full time, part time, full time employee, \
permanent, temporary, contract, contractor, seasonal, working, commercial associate, private sector, \
private company, fixed term, full time employed, part time employed, regular, intern, salaried, employed \
full time, employed part time, hourly, govt job, per diem, temp
employed by the public < in work: federal gov, state gov, local gov, government, federal government, state \
government, local government, public, public sector, state servant, civil servant, military
working on own account < in work: self employed, self emp, self emp inc, self emp not inc, businessman, \
freelance, freelancer, entrepreneur, business owner, own account, family business
without pay < without work: unemployed, retired, pensioner, student, school, homemaker, housewife, \
housekeeper, housekeeping, keeping house, without pay, never worked, children, disabled, not employed, not \
working, maternity leave, not in labor force, unable to work, on leave, looking for work, unemployed laid \
off, temporarily not working, out of work
""",
    ("employment", "de"): """
abhängig beschäftigt < erwerbstätig: angestellt, angestellter, angestellte, arbeiter, arbeiterin, \
vollzeit, teilzeit, beschäftigt, berufstätig, minijob, geringfügig beschäftigt, befristet, unbefristet, \
leiharbeit, auszubildender, auszubildende, azubi, werkstudent, praktikant, praktikantin, midijob, \
aushilfe, ausbildung
im öffentlichen Dienst < erwerbstätig: beamter, beamtin, beamte, beamte r, öffentlicher dienst, soldat, \
soldatin
selbständig tätig < erwerbstätig: selbständig, selbstständig, selbständige, selbstständige, selbständiger, \
selbstständiger, freiberuflich, freiberufler, freiberuflerin, freelancer, unternehmer, mithelfend
nicht beschäftigt < nicht erwerbstätig: arbeitslos, arbeitssuchend, arbeitsuchend, rentner, rentnerin, \
rente, pensionär, im ruhestand, ruhestand, student, studentin, schüler, schülerin, hausfrau, hausmann, \
elternzeit, nicht berufstätig, erwerbsunfähig, in rente, erwerbslos, sonstige nicht erwerbstätige
""",
    ("relationships", "en"): """
head or spouse < core of the household: wife, husband, spouse, unmarried partner, partner, head, head of \
household, householder, reference person
child or parent < core of the household: own child, child, son, daughter, stepchild, adopted child, foster \
child, parent, mother, father, grandchild, brother, sister, sibling, son in law, daughter in law, children
other member < outside the core: other relative, not in family, unmarried, roommate, housemate, boarder, \
roomer, nonrelative, non relative, other nonrelative, other non relative, group of people, lodger, \
employee
""",
    ("relationships", "de"): """
Vorstand oder Partner < Kern des Haushalts: ehemann, ehefrau, ehegatte, ehegattin, partner, partnerin, \
lebenspartner, lebenspartnerin, haushaltsvorstand, haupteinkommensbezieher, bezugsperson
Kind oder Eltern < Kern des Haushalts: kind, sohn, tochter, stiefkind, pflegekind, enkel, enkelin, \
enkelkind, mutter, vater, eltern, elternteil, bruder, schwester, geschwister
andere Mitglieder < weiterer Haushalt: mitbewohner, mitbewohnerin, untermieter, untermieterin, nicht \
verwandt, andere verwandte, sonstige verwandte
""",
    ("weekdays", "en"): """
Monday to Friday < Monday to Friday: monday, mon, tuesday, tue, tues, wednesday, wed, thursday, thu, \
thurs, thur, friday, fri
Saturday or Sunday < Saturday or Sunday: saturday, sat, sunday, sun
""",
    ("weekdays", "de"): """
Montag bis Freitag < Montag bis Freitag: montag, mo, dienstag, di, mittwoch, mi, donnerstag, do, freitag, \
fr
Samstag oder Sonntag < Samstag oder Sonntag: samstag, sa, sonnabend, sonntag, so
""",
    ("countries", "de"): """
Deutschland und Nachbarn im Süden < Westeuropa und Mitteleuropa: deutschland, deutsch, brd, österreich, \
österreichisch, schweiz, schweizerisch, liechtenstein
Westeuropa < Westeuropa und Mitteleuropa: frankreich, französisch, belgien, belgisch, niederlande, \
niederländisch, luxemburg, großbritannien, vereinigtes königreich, britisch, england, irland, irisch
Nordeuropa < Nord- und Osteuropa: dänemark, dänisch, schweden, schwedisch, norwegen, norwegisch, finnland, \
finnisch, island, estland, lettland, litauen, estnisch, lettisch, litauisch
Südeuropa < Südeuropa und Türkei: italien, italienisch, spanien, spanisch, portugal, portugiesisch, \
griechenland, griechisch, kroatien, kroatisch, serbien, serbisch, bosnien, bosnien und herzegowina, \
bosnisch, slowenien, slowenisch, albanien, albanisch, kosovo, kosovarisch, nordmazedonien, mazedonien, \
montenegro, malta, zypern
Osteuropa < Nord- und Osteuropa: polen, polnisch, tschechien, tschechische republik, tschechisch, \
slowakei, slowakisch, ungarn, ungarisch, rumänien, rumänisch, bulgarien, bulgarisch, russland, russisch, \
russische föderation, ukraine, ukrainisch, belarus, weißrussland, moldau, moldawien
Türkei und Naher Osten < Südeuropa und Türkei: türkei, türkisch, syrien, syrisch, irak, irakisch, iran, \
iranisch, libanon, libanesisch, israel, israelisch, jordanien, saudi arabien
übriges Asien < außerhalb von Europa: afghanistan, afghanisch, pakistan, pakistanisch, indien, indisch, \
china, chinesisch, vietnam, vietnamesisch, thailand, japan, japanisch, südkorea, indonesien, philippinen, \
kasachstan, kasachisch, georgien, armenien
Afrika < außerhalb von Europa: marokko, marokkanisch, tunesien, tunesisch, algerien, ägypten, ägyptisch, \
nigeria, nigerianisch, ghana, eritrea, eritreisch, äthiopien, somalia, somalisch, kenia, kamerun, \
südafrika, senegal
Amerika < außerhalb von Europa: usa, vereinigte staaten, vereinigte staaten von amerika, amerikanisch, us \
amerikanisch, kanada, kanadisch, mexiko, brasilien, brasilianisch, argentinien, kolumbien, peru, chile, \
venezuela, kuba
""",
    ("regions", "de"): """
Norden < Norden: schleswig holstein, sh, hamburg, hh, mecklenburg vorpommern, mv, bremen, hb, \
niedersachsen, ni
Osten < Osten: berlin, be, brandenburg, bb, sachsen anhalt, st, sachsen, sn, thüringen, th
Westen < Westen: nordrhein westfalen, nrw, nw, hessen, he, rheinland pfalz, rp, saarland, sl
Süden < Süden: bayern, by, baden württemberg, bw
""",
}  # fmt: skip

SAID: Final[Mapping[VocabularyName, str]] = {
    "education": "levels of education",
    "marital_status": "family situations",
    "occupations": "occupations",
    "departments": "departments",
    "industries": "industries",
    "employment": "kinds of employment",
    "relationships": "places in a household",
    "weekdays": "days of the week",
    "countries": "countries",
    "regions": "German states",
}
"""What the values of each are called."""


@dataclass(frozen=True)
class Vocabulary:
    """Values or words, each with its group and broader group; see the module."""

    groups: Mapping[str, tuple[str, str]]
    is_of_words: bool

    def ancestors(self, value: str) -> tuple[str, str] | None:
        """Group and broader group of a value; None if it is not known."""
        text = _folded(value)
        found = self.groups.get(text)
        if found is not None or not self.is_of_words:
            return found
        words = text.split()
        spans = (
            (end - start, start, " ".join(words[start:end]))
            for start in range(len(words))
            for end in range(start + 1, min(len(words), start + _LONGEST) + 1)
        )
        known = [own for own in spans if own[2] in self.groups]
        return self.groups[max(known)[2]] if known else None


VOCABULARIES: Final = tuple(_TABLES)
"""Name and language of each."""


def vocabulary(name: VocabularyName, language: Language) -> Vocabulary | None:
    """The vocabulary of that name in a language; None if there is none."""
    return _read(name, language) if (name, language) in _TABLES else None


@cache
def _read(name: VocabularyName, language: Language) -> Vocabulary:
    return Vocabulary(dict(entries_of(name, language)), name in _OF_WORDS)


def entries_of(name: VocabularyName, language: Language) -> Iterator[tuple[str, tuple[str, str]]]:
    """Every value or word as it is compared, with its group and broader group."""
    for line in _TABLES[name, language].strip().splitlines():
        above, values = line.split(": ")
        group, broader = above.split(" < ")
        yield from ((_folded(value), (group, broader)) for value in values.split(", "))


def _folded(value: str) -> str:
    """The value in small letters without accents, its words joined by blanks."""
    return " ".join(re.findall(r"\w+", value.casefold().translate(_LETTERS).replace("_", " ")))
