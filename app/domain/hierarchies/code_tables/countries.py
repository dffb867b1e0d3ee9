"""Countries by alpha-2 code, alpha-3 code and English names, with the regions of the United Nations' M49.

Names are those of ISO 3166-1, of which common ones come first, and spellings that tables often have. The
regions are the 22 of M49 that it calls geographic (an intermediate region where there is one, else the
sub-region) and Antarctica; M49 groups for statistics and says nothing of the status of a territory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

_TABLE: Final = """
Northern Africa < Africa
  DZ DZA Algeria
  EG EGY Egypt
  LY LBY Libya
  MA MAR Morocco
  SD SDN Sudan
  TN TUN Tunisia
  EH ESH Western Sahara
Eastern Africa < Africa
  BI BDI Burundi
  KM COM Comoros
  DJ DJI Djibouti
  ER ERI Eritrea
  ET ETH Ethiopia
  IO IOT British Indian Ocean Territory
  KE KEN Kenya
  MG MDG Madagascar
  MW MWI Malawi
  MU MUS Mauritius
  YT MYT Mayotte
  MZ MOZ Mozambique
  RE REU Réunion
  RW RWA Rwanda
  SC SYC Seychelles
  SO SOM Somalia
  SS SSD South Sudan
  TF ATF French Southern Territories
  TZ TZA Tanzania | Tanzania, United Republic of
  UG UGA Uganda
  ZM ZMB Zambia
  ZW ZWE Zimbabwe
Middle Africa < Africa
  AO AGO Angola
  CM CMR Cameroon
  CF CAF Central African Republic
  TD TCD Chad
  CG COG Congo | Republic of the Congo
  CD COD Congo, The Democratic Republic of the | Democratic Republic of the Congo
  GQ GNQ Equatorial Guinea
  GA GAB Gabon
  ST STP Sao Tome and Principe
Southern Africa < Africa
  BW BWA Botswana
  LS LSO Lesotho
  NA NAM Namibia
  ZA ZAF South Africa
  SZ SWZ Eswatini | Swaziland
Western Africa < Africa
  BJ BEN Benin
  BF BFA Burkina Faso
  CV CPV Cabo Verde | Cape Verde
  CI CIV Côte d'Ivoire | Ivory Coast
  GM GMB Gambia | The Gambia
  GH GHA Ghana
  GN GIN Guinea
  GW GNB Guinea-Bissau
  LR LBR Liberia
  ML MLI Mali
  MR MRT Mauritania
  NE NER Niger
  NG NGA Nigeria
  SH SHN Saint Helena, Ascension and Tristan da Cunha
  SN SEN Senegal
  SL SLE Sierra Leone
  TG TGO Togo
Caribbean < Americas
  AI AIA Anguilla
  AG ATG Antigua and Barbuda
  AW ABW Aruba
  BS BHS Bahamas | The Bahamas
  BB BRB Barbados
  BQ BES Bonaire, Sint Eustatius and Saba
  VG VGB Virgin Islands, British
  KY CYM Cayman Islands
  CU CUB Cuba
  CW CUW Curaçao
  DM DMA Dominica
  DO DOM Dominican Republic
  GD GRD Grenada
  GP GLP Guadeloupe
  HT HTI Haiti
  JM JAM Jamaica
  MQ MTQ Martinique
  MS MSR Montserrat
  PR PRI Puerto Rico
  BL BLM Saint Barthélemy
  KN KNA Saint Kitts and Nevis
  LC LCA Saint Lucia
  MF MAF Saint Martin (French part)
  VC VCT Saint Vincent and the Grenadines
  SX SXM Sint Maarten (Dutch part)
  TT TTO Trinidad and Tobago
  TC TCA Turks and Caicos Islands
  VI VIR Virgin Islands, U.S.
Central America < Americas
  BZ BLZ Belize
  CR CRI Costa Rica
  SV SLV El Salvador
  GT GTM Guatemala
  HN HND Honduras
  MX MEX Mexico
  NI NIC Nicaragua
  PA PAN Panama
South America < Americas
  AR ARG Argentina
  BO BOL Bolivia | Bolivia, Plurinational State of
  BV BVT Bouvet Island
  BR BRA Brazil
  CL CHL Chile
  CO COL Colombia
  EC ECU Ecuador
  FK FLK Falkland Islands (Malvinas)
  GF GUF French Guiana
  GY GUY Guyana
  PY PRY Paraguay
  PE PER Peru
  GS SGS South Georgia and the South Sandwich Islands
  SR SUR Suriname
  UY URY Uruguay
  VE VEN Venezuela | Venezuela, Bolivarian Republic of
Northern America < Americas
  BM BMU Bermuda
  CA CAN Canada
  GL GRL Greenland
  PM SPM Saint Pierre and Miquelon
  US USA United States | United States of America | United-States
Central Asia < Asia
  KZ KAZ Kazakhstan
  KG KGZ Kyrgyzstan
  TJ TJK Tajikistan
  TM TKM Turkmenistan
  UZ UZB Uzbekistan
Eastern Asia < Asia
  CN CHN China
  HK HKG Hong Kong
  MO MAC Macao | Macau
  KP PRK North Korea | Korea, Democratic People's Republic of
  JP JPN Japan
  MN MNG Mongolia
  KR KOR South Korea | Korea, Republic of
  TW TWN Taiwan | Taiwan, Province of China
South-eastern Asia < Asia
  BN BRN Brunei Darussalam | Brunei
  KH KHM Cambodia
  ID IDN Indonesia
  LA LAO Laos | Lao People's Democratic Republic
  MY MYS Malaysia
  MM MMR Myanmar | Burma
  PH PHL Philippines
  SG SGP Singapore
  TH THA Thailand
  TL TLS Timor-Leste | East Timor
  VN VNM Vietnam | Viet Nam
Southern Asia < Asia
  AF AFG Afghanistan
  BD BGD Bangladesh
  BT BTN Bhutan
  IN IND India
  IR IRN Iran | Iran, Islamic Republic of
  MV MDV Maldives
  NP NPL Nepal
  PK PAK Pakistan
  LK LKA Sri Lanka
Western Asia < Asia
  AM ARM Armenia
  AZ AZE Azerbaijan
  BH BHR Bahrain
  CY CYP Cyprus
  GE GEO Georgia
  IQ IRQ Iraq
  IL ISR Israel
  JO JOR Jordan
  KW KWT Kuwait
  LB LBN Lebanon
  OM OMN Oman
  QA QAT Qatar
  SA SAU Saudi Arabia
  PS PSE Palestine, State of | Palestine
  SY SYR Syria | Syrian Arab Republic
  TR TUR Türkiye | Turkey
  AE ARE United Arab Emirates
  YE YEM Yemen
Eastern Europe < Europe
  BY BLR Belarus
  BG BGR Bulgaria
  CZ CZE Czechia | Czech Republic
  HU HUN Hungary
  PL POL Poland
  MD MDA Moldova | Moldova, Republic of
  RO ROU Romania
  RU RUS Russian Federation | Russia
  SK SVK Slovakia
  UA UKR Ukraine
Northern Europe < Europe
  AX ALA Åland Islands
  DK DNK Denmark
  EE EST Estonia
  FO FRO Faroe Islands
  FI FIN Finland
  GG GGY Guernsey
  IS ISL Iceland
  IE IRL Ireland
  IM IMN Isle of Man
  JE JEY Jersey
  LV LVA Latvia
  LT LTU Lithuania
  NO NOR Norway
  SJ SJM Svalbard and Jan Mayen
  SE SWE Sweden
  GB GBR United Kingdom | Great Britain | UK
Southern Europe < Europe
  AL ALB Albania
  AD AND Andorra
  BA BIH Bosnia and Herzegovina
  HR HRV Croatia
  GI GIB Gibraltar
  GR GRC Greece
  VA VAT Holy See (Vatican City State) | Vatican City
  IT ITA Italy
  MT MLT Malta
  ME MNE Montenegro
  MK MKD North Macedonia | Macedonia
  PT PRT Portugal
  SM SMR San Marino
  RS SRB Serbia
  SI SVN Slovenia
  ES ESP Spain
Western Europe < Europe
  AT AUT Austria
  BE BEL Belgium
  FR FRA France
  DE DEU Germany
  LI LIE Liechtenstein
  LU LUX Luxembourg
  MC MCO Monaco
  NL NLD Netherlands | The Netherlands
  CH CHE Switzerland
Australia and New Zealand < Oceania
  AU AUS Australia
  CX CXR Christmas Island
  CC CCK Cocos (Keeling) Islands
  HM HMD Heard Island and McDonald Islands
  NZ NZL New Zealand
  NF NFK Norfolk Island
Melanesia < Oceania
  FJ FJI Fiji
  NC NCL New Caledonia
  PG PNG Papua New Guinea
  SB SLB Solomon Islands
  VU VUT Vanuatu
Micronesia < Oceania
  GU GUM Guam
  KI KIR Kiribati
  MH MHL Marshall Islands
  FM FSM Micronesia, Federated States of
  NR NRU Nauru
  MP MNP Northern Mariana Islands
  PW PLW Palau
  UM UMI United States Minor Outlying Islands
Polynesia < Oceania
  AS ASM American Samoa
  CK COK Cook Islands
  PF PYF French Polynesia
  NU NIU Niue
  PN PCN Pitcairn
  WS WSM Samoa
  TK TKL Tokelau
  TO TON Tonga
  TV TUV Tuvalu
  WF WLF Wallis and Futuna
Antarctica < Antarctica
  AQ ATA Antarctica
"""


def _entries() -> Iterator[tuple[str, tuple[str, str]]]:
    """Every spelling in lower case with its sub-region and region."""
    regions = ("", "")
    for line in _TABLE.strip().splitlines():
        if not line.startswith(" "):
            subregion, region = line.split(" < ")
            regions = (subregion, region)
            continue
        short, long, names = line.split(maxsplit=2)
        for spelling in (short, long, *names.split(" | ")):
            yield spelling.casefold(), regions


COUNTRIES: Final[Mapping[str, tuple[str, str]]] = dict(_entries())
"""Code or name of a country in lower case → its sub-region and region."""
