"""Words by which columns are called, in several languages, and what columns called so hold.

A subject is found in a column's name by its words. A word is written in lower case without accents; ``*``
before or behind it allows other letters there, and ``+`` joins several words that follow one another. ``?``
behind a word says that it means other things as often: whoever knows the table is to look. Words stand
for themselves, so that a taxi is no tax; ``*`` is for stems that hardly anything else begins or ends with,
and for what German joins. To add a word or a language, add it to the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Subject:
    """What a column may be about.

    Attributes
    ----------
    title
        What its cells are, in the plural.
    role
        Role of such columns: ``direct`` for direct identifiers, ``dropped`` for what is never released.
    words
        Names that such columns have.
    is_code
        Whether its cells are codes even where they are written as numbers.
    is_unsure
        Whether the word that was found means other things as often.
    """

    title: str
    role: str
    words: frozenset[str]
    is_code: bool = False
    is_unsure: bool = False


def _subject(title: str, role: str, words: str, *, is_code: bool = False) -> Subject:
    return Subject(title, role, frozenset(words.split()), is_code)


DIRECT: Final = "direct"
DROPPED: Final = "dropped"
QUASI: Final = "quasi_identifier"
SENSITIVE: Final = "sensitive"

_DIRECT: Final = (
    _subject("numbers of persons or records", DIRECT, """
        ssn mrn nhs+number medical+record social+security national+id tax+id passport* licen*+number
        steuer+id steuernummer sozialversicherung* ausweis* versichertennummer matrikelnummer dni nif nie
        cpf rg curp codice+fiscale codicefiscale pesel bsn nir nss secu burgerservicenummer serialno
        serial+number seqn ticket subject+id patient+id patient+nbr patient+no patient+key member+id
        customer+id client+id person+id employee+id employee+number student+id user+id household+id
        encounter+id case+id hadm+id stay+id visit+id desynpuf+id participant+id respondent+id
        patient+number member+number customer+number client+number policy+number card+number
        invoice+number account+number claim+number reference+number voter+reg+num registration+number
        record+number case+number *patientennummer *personalnummer *kundennummer *mitgliedsnummer
        *fallnummer *spendernummer *vertragsnummer *aktenzeichen *patientnummer klantnummer personeelsnummer
        *numero+patient numero+dossier numero+client num+patient num+dossier matricule numero+paciente
        numero+cliente numero+historia expediente numero+paziente matricola numer+pacjenta numer+klienta
        prontuario account konto kontonummer iban bic *kreditkarte* credit+card card+no imei device+id
        cookie* uuid guid number+plate licence+plate license+plate kennzeichen vin
    """),
    _subject("names of people", DIRECT, """
        name names full+name first+name last+name middle+name surname forename given+name family+name
        maiden+name nickname first last lastname firstname fullname fname lname initials nachname vorname
        zuname familienname geburtsname rufname patientenname nom prenom nom+famille patronyme nombre
        nombres apellido apellidos cognome nome nome+completo sobrenome apelido achternaam voornaam naam
        imie imiona nazwisko physician doctor nurse therapist attending medecin* arzt behandler hausarzt
        medico medico+curante huisarts lekarz contact+person
    """),
    _subject("ways to reach a person", DIRECT, """
        email e+mail mail *telephone phone* *phone tel telefon* telefono telefone telefoon mobile mobil
        mobiltelefon handy gsm fax url website homepage web+address username user+name login handle
        twitter facebook instagram skype courriel correo posta+elettronica ip ip+address mac+address
    """),
    _subject("postal addresses", DIRECT, """
        address street street+address res+street+address house+number strasse *strasse str hausnummer
        anschrift adresse rue voie calle domicilio direccion via indirizzo endereco rua logradouro adres
        straat huisnummer ulica latitude longitude lat lon lng coordinates gps geolocation
    """),
    _subject("pictures or traces of a body", DIRECT, """
        photo foto picture portrait fingerprint fingerabdruck signature unterschrift biometric* face+id
    """),
)  # fmt: skip

_DROPPED: Final = (
    _subject("remarks in free text", DROPPED, """
        remark remarks comment comments notes free+text freetext narrative message observation* memo
        *bemerkung* anmerkung* kommentar* freitext notiz* hinweis* *beschreibung anamnese epikrise
        commentaire* remarque* observaciones comentario* anotacoes osservazioni commento commenti
        annotazioni opmerking* toelichting uwagi komentarz* opis
    """),
    _subject("weights of a survey", DROPPED, """
        fnlwgt finalweight* *wgtp pwgt* *wgt wtint* wtmec* *perwt survey+weight sampling+weight weighting*
        wave+weight final+weight wtssall wtssps hhwt
        hochrechnung* gewichtungsfaktor ponderation poids+sondage llcpwt design+weight person+weight
    """),
)  # fmt: skip

_QUASI: Final = (
    _subject("dates or years of birth", QUASI, """
        birth* born dob yob date+of+birth year+of+birth birthday geb geb+datum gebdat geburt* naissance
        ne+le date+naissance fecha+nacimiento nacimiento nascita data+nascita nascimento geboorte*
        urodzenia data+urodzenia rok+urodzenia
    """),
    _subject("ages", QUASI, """
        age aged ages agep age+group ridageyr alter altersgruppe lebensalter tranche+age edad eta idade
        leeftijd wiek anchor+age senior+citizen
    """),
    _subject("sexes", QUASI, """
        sex sexe sexo sesso gender geschlecht genero genere geslacht plec sexvar riagendr anrede
        salutation civilite tratamiento aanhef derived+sex pronoun*
    """),
    _subject("postal codes", QUASI, """
        zip zips *zip zipcode* postcode* postal* post+code zip+code plz *plz postleitzahl code+postal cp
        codigo+postal codigopostal cap cep kod+pocztowy kodpocztowy pincode
    """, is_code=True),
    _subject("places", QUASI, """
        area? location? location+area distance+from+home distance+to+work embarked destination
    """),
    _subject("places", QUASI, """
        city city+name town village municipality county county+name state state+name st province region
        country country+name country+of+birth native+country district borough tract census+tract puma fips
        suburb neighbourhood neighborhood residence location+name urban urbanicity rural zone home+zone ort
        wohnort geburtsort stadt gemeinde kreis landkreis bundesland land bezirk stadtteil commune ville
        departement pays canton quartier ciudad localidad municipio poblacion provincia comunidad pais
        comune citta regione paese residenza cidade estado bairro uf concelho distrito freguesia woonplaats
        plaats gemeente provincie miasto miejscowosc gmina powiat wojewodztwo kraj
    """, is_code=True),
    _subject("nationalities or origins", QUASI, """
        nationalit* citizen* cit native foreign foreigner* immigra* migration* migrant* staatsangehorigkeit
        staatsburgerschaft nacionalidad* cittadinanza nazionalita obywatelstwo narodowosc
    """),
    _subject("races or ethnic groups (specially protected by Article 9 of the GDPR)", QUASI, """
        race races raceethnicity racial ethnic* rac1p hisp hispanic ridreth* skin+colo*r ancestry hautfarbe
        ethnie etnia raza raca ras pochodzenie
    """),
    _subject("languages", QUASI, """
        language* lang mother+tongue sprache *sprache langue idioma lingua taal moedertaal jezyk
    """),
    _subject("family situations", QUASI, """
        marital* married marriage mar maristat dmdmartl civil+status relationship* partner spouse
        personal+status household* hh+size children child* dependent* num+dependents family* fam families
        sibling* sibsp parch guardian mother* father* parent* *familienstand steuerklasse kinder* haushalt*
        ehepartner zivilstand situation+familiale situation+matrimoniale etat+civil enfants menage conjoint
        estado+civil hijos conyuge stato+civile figli coniuge filhos agregado burgerlijke+staat kinderen
        gezin* stan+cywilny dzieci
    """),
    _subject("schools or degrees", QUASI, """
        education* school* educ schl degree qualification* university college major study studies diploma
        grade+level dmdeduc* *bildung* *ausbildung schulabschluss abschluss studium schule klasse
        education+level etudes niveau+etudes diplome ecole classe scolarite estudios nivel+estudios
        escolaridad* instruccion escuela istruzione studi titolo+studio scuola escola opleiding*
        wyksztalcenie szkola
    """),
    _subject("hours or lengths of work", QUASI, """
        hours+per+week typical+hours hours+worked working+hours job+hours jbhrs emp+length years+at+company
        years+of+experience experience+years seniority tenure? *dienstjahre wochenstunden arbeitszeit*
        betriebszugehorigkeit*
    """),
    _subject("occupations or employers", QUASI, """
        occupation* job jobs job+title job+titles job+role profession* work works worker* working*
        workclass workplace* wrkstat employ* employer emp+title
        position? department dept division? industry sector trade? economic+activity
        team? business+travel job+level beruf* tatigkeit branche
        abteilung arbeitgeber stelle taetigkeit metier poste emploi fonction
        service+affectation embauche ocupacion puesto trabajo profesion departamento cargo professione
        lavoro mansione impiego reparto profissao ocupacao emprego beroep functie werkgever afdeling zawod
        stanowisko dzial pclass prestg*
    """),
    _subject("codes of occupations or industries", QUASI, """
        occ occp occrecode isco* indp naics* nace*
    """, is_code=True),
    _subject("dates of stays, visits or events", QUASI, """
        admission* admission+date admission+location admit* admittime discharge* discharge+date dischtime
        arrival* visit+date incident+date event+date registr* registration+date signup* sign+up+date joined
        joined+date join+date hire hired hire+date hiring hiring+date leaving+date leaving left+date
        exit+date termination+date terminated *eintritt* *austritt* *einzugsdatum *auszugsdatum *datum
        vaccination+date pickup+datetime dropoff+datetime application+date donation+date contract+start
        stop+date start+date end+date onset* service+date dod date+of+death death+date death+dt death+year
        *aufnahme* *entlass* sterbedatum todesdatum besuchsdatum date+entree date+sortie date+admission
        date+deces fecha+ingreso fecha+alta fecha+defuncion data+ricovero data+dimissione data+decesso
        data+internacao data+alta data+obito opname* ontslag* overlijdensdatum data+przyjecia data+wypisu
        data+zgonu time+of+visit anchor+year
    """),
    _subject("institutions or insurers", QUASI, """
        hospital hospital+name taxi+company company facility facility+name clinic clinic+name school+name
        branch+name company+name department+name provider+name ward station store shop branch insurance*
        insurer* payer* payor* payment+typology krankenhaus klinik krankenkasse *versicher* kasse
        kostentrager filiale hopital etablissement mutuelle assur* clinica aseguradora mutua seguro*
        ospedale assicura* convenio ziekenhuis verzeker* szpital ubezpiecz*
    """),
    _subject("homes or vehicles", QUASI, """
        housing home+ownership dwelling owner vehicle* auto auto+make auto+model auto+year car+make
        wohnung* wohnsituation fahrzeug* logement vehicule vivienda vehiculo abitazione veicolo moradia
        veiculo woning voertuig
    """),
)  # fmt: skip

_SENSITIVE: Final = (
    _subject("diagnoses or complaints", SENSITIVE, """
        diag diag* *diagnos* *diagnosis disease* illness* icd* condition* symptom* *complaint comorbid* ccs
        drg apr+drg cause+of+death chest+pain* pain pains painful injur* reaction reactions adverse+reaction
        *krankheit* *erkrankung* beschwerden befund* maladie* enfermedad* patologia* malattia* doenca*
        ziekte* aandoening* choroba rozpoznanie asthma* diabet* cancer* tumo*r alzh* sp+alzhdmta depress*
        sp+depressn stroke* heart* hiv* aids covid* infection* dementia
    """, is_code=True),
    _subject("states of health or treatments", SENSITIVE, """
        health* genhlth gesund* sante etat+de+sante salud estado+salud salute saude gezondheid* zdrowi* bmi
        *bmi body+weight weight+kg weight+lb weight+lbs height body body+fat blood* *pressure bp bpxs* bpxd*
        lbx* cholesterol* glucose* sugar* hba1c insulin* smok* smq* tobacco alcohol* alkohol* promille drug*
        lab* test+result* treatment* therap* medication* num+medications medicine med meds medic*
        prescription* procedure* surger* surgical operation specialty medical+specialty pregnan* disab* dis
        handicap* behinder* *behinderung minusvalia discapacidad* invalid* deficiencia niepelnosprawn*
        severity triage* icu* hosp hospitali* readmi* length+of+stay los time+in+hospital disposition
        patient+disposition expire* *expire+flag death* died deceased surviv* mortality vaccin* sick*
        absence* absent* krankheitstage fehltage *fehlzeit* admission+type type+of+admission special+needs
        *forderbedarf *foerderbedarf medikament* medikation therapie* behandlung* operationsschlussel blut*
        gewicht groesse korpergewicht korpergrosse heart+rate resting+heart+rate medicament* traitement*
        tratamiento* farmac* trattamento* tratamento* behandeling* leki leczenie fitness genom* genetic* dna
    """),
    _subject("weights, be it of bodies, of goods or of a survey", SENSITIVE, """
        weight? weights? poids? peso?
    """),
    _subject("money, debts or prices", SENSITIVE, """
        salary salaries salary+or+hourly rate+of+pay hourly+rate household+income household+salary
        family+income tip+amount tagessatz *kaltmiete *warmmiete *miete *schulden rent+paid customs+value
        tariff? annual+kwh income* annual+inc wage wages wagp pincp hincp indfmpir pay payroll earning*
        bonus gehalt *bruttogehalt *nettogehalt *jahresgehalt *monatsgehalt *grundgehalt lohn *lohn brutto*
        netto* einkommen* *einkommen verdienst* salaire* revenu* remuneration* salario* sueldo* ingresos
        renta stipendio reddito retribuzione *rinc renda* rendimento* ordenado salaris* inkomen* loon
        wynagrodzen* pensja dochod* zarobki cost costs *kosten charges total+charges monthly+charges cout*
        coste* costo* custo* koszt* amount* *amount amt *amt *betrag montant* importe* importo* valor+total
        bedrag* kwota price* fare fares premium* claim+amount total+claim* claims balance* *balance saldo*
        loan* kredit* *kredit* credit* debt* dti savings* checking* capital* wealth asset* mortgage* spend*
        total+spend spent purchase* payment* payment+method reimb* *reimb* points? deposit* int+rate
        interest+rate term? mahn* arrear* default* bankrupt* insolven* denial* action+taken limit+bal
        bill+amt* dette* deuda* debito* divida* schuld* dlug* tax taxes tax+paid tax+amount tax+due
        income+tax taxable* steuerklasse* vermogen* pension* benefit* sozialhilfe* purpose?
    """),
    _subject("marks, ratings or outcomes", SENSITIVE, """
        grade grades grade+final final+grade mark marks gpa score scores *score score+text rating ratings
        credit+rating performance* satisfaction* job+satisfaction evaluation* outcome outcomes *outcome
        result results target? label? class? y? churn* attrition* turnover fraud* duration? note? noten
        zensur* bewertung* beurteilung* leistung* calificacion* voto nota notas cijfer* ocena oceny
    """),
    _subject("beliefs or sexual life", SENSITIVE, """
        relig* faith belief* denomination *konfession* glaube* kirche* kirchensteuer* culte religi*
        confession godsdienst geloof wyznanie party* politic* vote* voting wahl* partei* parti partito
        partido union* trade+union gewerkschaft* syndicat* sindicato* sexual* sexual+orientation
        orientation transgender
    """),
    _subject("offences or convictions", SENSITIVE, """
        crime* criminal* crim convict* conviction* offence* offense* offender* arrest arrests arrested
        charge+degree charge+desc priors* prior+count juv juvenile* recid* *recid felon* sentence* prison*
        incident+severity probation parole straf* *straftat* verurteil* vorstrafe* delit* delito* reato*
        condamn* condena* karal* denuncia* violation*
    """),
)  # fmt: skip

SUBJECTS: Final = (*_DIRECT, *_DROPPED, *_QUASI, *_SENSITIVE)
"""Of two that fit a name equally well the first one counts."""

PERSONS_NUMBER: Final = frozenset(
    (
        "id",
        "ids",
        "uuid",
        "guid",
        "key",
        "identifier",
        "identifiant",
        "identificador",
        "identificativo",
        "kennung",
    )
)
"""Last words of names of columns that number persons or records, if their values are many."""

NUMBER_WORDS: Final = frozenset(
    "nr no number nbr num nummer numero numer ref reference".split()  # noqa: SIM905
)
"""Last words of names that say less: only columns with nearly as many values as rows number their rows."""
