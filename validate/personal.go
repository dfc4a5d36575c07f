package validate

import (
	"slices"
	"strings"
)

// property is one place where a schema names a member, as far as its name can be judged.
type property struct {
	// name is the member's name as the schema spells it.
	name string
	// parent is the name of what the member belongs to: the enclosing member, or the event's type at the root.
	parent string
	// siblings are the names that the same schema object declares, the member's own among them.
	siblings []string
	// typ is the one JSON type that the member's schema allows; empty where it does not say, or allows several.
	typ string
	// format is the member's format, if it has one.
	format string
}

// What a name can look like. The texts end a sentence that begins with the property's name.
const (
	looksName       = "the name of a person"
	looksEmail      = "an e-mail address"
	looksPhone      = "a phone number"
	looksAddress    = "a postal address"
	looksBirth      = "a date or place of birth"
	looksNationalID = "an official identification number"
	looksFinance    = "bank, card or salary data"
	looksOnline     = "an online identifier"
	looksVehicle    = "a vehicle registration"
	looksSpecial    = "a special category of personal data, or one close to it"
	looksCredential = "a password"
	looksLocation   = "a location"
	looksImage      = "a picture of a person"
	looksAge        = "the age of a person"
)

// dictionary knows which names look personal. Its words are folded; a term of several words is squeezed into one, since names are written
// in all ways: "birth date" is found in birthDate, birth_date, BIRTH-DATE and birthdate.
type dictionary struct {
	anywhere map[string]string // squeezed term → what it looks like
	last     map[string]string // only as the last words of a name
	whole    map[string]string // only as the whole name
	inPerson map[string]string // only as the whole name, of something that belongs to a person
	persons  map[string]bool   // words for a person
	others   map[string]bool   // words for what has a name and an address and is no person
	naming   map[string]bool   // words for a name
	between  map[string]bool   // may stand between the two: customer_display_name
	heads    map[string]bool   // as the last word after a term: the name is about the value, and is not the value
	openings map[string]bool   // as the first word before a term: the same
	machines map[string]bool   // before "address": no postal one
}

func newDictionary() *dictionary {
	d := &dictionary{anywhere: map[string]string{}, last: map[string]string{}, whole: map[string]string{}, inPerson: map[string]string{}}

	terms(d.anywhere, looksName, `first name, given name, forename, middle name, last name, family name, surname, maiden name, second name, full name,
		name surname, name and surname, nick name, lname, patronymic,
		soyad, soyadi, soyisim, soyismi, ad soyad, adi soyadi, ad ve soyad, adi ve soyadi, isim soyisim, isim soyad, gobek adi, takma ad, on adi, ilk adi`)
	terms(d.anywhere, looksEmail, `email, e mail, email id, mail address, electronic mail, eposta, epostasi, e posta, elektronik posta, mail adresi`)
	terms(d.anywhere, looksPhone, `phone, telephone, mobile number, mobile no, cell number, msisdn, whatsapp, fax,
		telefon, telefonu, tel, telno, gsm, cep no, cep numarasi, cep tel, faks`)
	terms(d.anywhere, looksAddress, `address, street, house number, door number, postal code, postcode, zipcode,
		adres, adresi, sokak, sokagi, cadde, caddesi, mahalle, mahallesi, kapi no, daire no, posta kodu`)
	terms(d.anywhere, looksBirth, `birth, birthday, birthdate, birthplace, birthyear, birthcountry, birthname, date of birth, place of birth, born, born at, born on, born in, dob,
		dogum, dogum tarihi, dogum yeri, dogum yili, dogum gunu, dogum ulkesi`)
	terms(d.anywhere, looksNationalID, `national id, national identity, national number, identity number, identity no, identity card, identification number,
		id number, id card, personal number, personal id, ssn, social security, social insurance number, tax id, tax no, tax number, taxpayer id,
		tax identification, tin, vat number, vat id, passport, driver license, driver licence, drivers license, drivers licence, driving license,
		driving licence, nino, cpf, pesel, bsn, aadhaar, curp, mrn, medical record number, insurance number,
		tckn, tc no, tc kimlik, kimlik no, kimlik numarasi, nufus cuzdani, vkn, ykn, vergi no, vergi numarasi, vergi kimlik, pasaport, ehliyet, surucu belgesi,
		sgk no, ssk no, sigorta no, sicil no`)
	terms(d.anywhere, looksFinance, `iban, bank account, account number, account no, account holder, card number, card no, card holder, cardholder,
		credit card, debit card, cvv, cvc, salary, wage, maas, maasi, hesap no, hesap numarasi, hesap sahibi, banka hesabi, kart no, kart numarasi,
		kart sahibi, kredi karti`)
	terms(d.anywhere, looksOnline, `ip address, ip addr, ip adresi, client ip, remote ip, user ip, source ip, mac address, mac adresi, imei, imsi, username,
		user name, user login, screen name, login name, kullanici adi`)
	terms(d.anywhere, looksVehicle, `license plate, licence plate, number plate, plate number, plaka, plakasi`)
	terms(d.anywhere, looksSpecial, `diagnosis, blood type, blood group, allergy, medication, disability, disease, religion, ethnicity, ethnic origin, gender,
		nationality, citizenship, marital status, sexual orientation, political opinion, trade union, biometric, criminal record,
		cinsiyet, cinsiyeti, uyruk, uyrugu, tabiiyet, medeni hal, medeni hali, medeni durum, medeni durumu, kan grubu, teshis, hastalik, hastaligi,
		engellilik, engel durumu, mezhep, parmak izi, sabika, sabika kaydi`)
	terms(d.anywhere, looksCredential, `password, passwd, passphrase, parola, parolasi, sifre, sifresi`)

	terms(d.last, looksEmail, `mail`)
	terms(d.last, looksPhone, `mobile, cep`)
	terms(d.last, looksAddress, `zip`)

	terms(d.whole, looksOnline, `ip, ipv, login`)
	terms(d.whole, looksNationalID, `tc, kimlik, pan`)
	terms(d.whole, looksSpecial, `sex, din, race, irk, tani`)

	terms(d.inPerson, looksName, `name, first, last, middle, given, family, ad, adi, isim, ismi, display name, legal name, unvan, initials`)
	terms(d.inPerson, looksAge, `age, yas, yasi`)
	terms(d.inPerson, looksLocation, `location, latitude, longitude, lat, lng, lon, geo, konum, konumu, enlem, boylam`)
	terms(d.inPerson, looksImage, `photo, picture, image, avatar, portrait, selfie, resim, resmi, fotograf, fotografi, vesikalik`)
	terms(d.inPerson, looksPhone, `cell, landline`)

	d.persons = words(`customer, user, person, people, employee, patient, contact, member, owner, author, subscriber, buyer, recipient, sender, payer, payee,
		debtor, creditor, guest, passenger, driver, student, teacher, doctor, physician, nurse, holder, cardholder, applicant, candidate, client, guardian,
		beneficiary, spouse, mother, father, insured, policyholder, signer, signatory, visitor, participant, attendee, individual, citizen, taxpayer,
		shopper, consignee, donor, borrower, representative, assignee, committer, pusher, billto, shipto, soldto,
		musteri, kullanici, kisi, sahis, calisan, personel, hasta, uye, yetkili, alici, gonderen, gonderici, sahip, sahibi, yolcu, ogrenci, ogretmen,
		sofor, surucu, veli, mukellef, abone, borclu, kiraci, malik, vasi, anne, baba, cocuk, doktor, hekim, vatandas, misafir, aday, basvuran, irtibat,
		odeyen, temsilci, sigortali, katilimci, ziyaretci`)
	d.others = words(`company, organization, organisation, org, firm, business, supplier, vendor, merchant, manufacturer, bank, store, shop, branch, warehouse,
		department, team, product, item, article, service, application, app, repository, project, brand, category, currency, country, city,
		firma, sirket, kurum, kurulus, tedarikci, satici, banka, magaza, sube, depo, bolum, urun, kalem, hizmet, marka, kategori, ulke, sehir`)
	d.naming = words(`name, ad, adi, isim, ismi, adsoyad, adisoyadi`)
	d.between = words(`display, full, legal, real, short, first, last`)
	d.heads = words(`type, kind, count, status, state, verified, verification, confirmed, confirmation, validated, validation, valid, enabled, disabled,
		allowed, required, template, format, version, flag, at, time, sent, opened, bounced, delivered, clicked, provider, client, server, service,
		queue, subject, locale, language, lang, preference, consent, optin, optout, in, out, subscribed, notification, campaign, channel, method, event, code,
		country, timezone, length, size, label, schema, model, brand, os, id, uuid, ref, source, category, priority, score, limit, domain, url, uri, link,
		operator, policy, reset, changed, expiry, expires, expired, issuer, currency, changes, updated, created, deleted, space, interval, marketing,
		tur, turu, tip, tipi, durum, durumu, sayisi, adedi, adet, onay, onayi, onayli, izin, izni, sablon, sablonu, kodu, dogrulandi, dogrulama,
		zamani, ulke, ulkesi, dili, kanal, kanali, operatoru, baglantisi`)
	d.openings = words(`is, has, had, can, should, must, allow, allows, enable, enables, requires, require, use, uses, num, number, count, total, max, min, hide, show,
		send, verify, toplam, sayi`)
	d.machines = words(`server, host, listen, bind, contract, web, site, memory, base, broker, node, peer, network, subnet, gateway, proxy, start, wallet,
		warehouse, store, branch, depo, magaza, sube, sunucu`)
	return d
}

func terms(into map[string]string, looks, list string) {
	for _, term := range strings.Split(list, ",") {
		into[strings.Join(strings.Fields(term), "")] = looks
	}
}

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Split(list, ",") {
		set[strings.Join(strings.Fields(word), "")] = true
	}
	return set
}

// maxTermWords is how many words of a name may make up one term: "ad ve soyad", "adi ve soyadi" and "medical record number" have three.
const maxTermWords = 4

// looksLike says what a property looks like, or "" where it looks like nothing personal.
func (d *dictionary) looksLike(p property) string {
	if p.typ == "boolean" || p.typ == "null" {
		return "" // says something about the datum: is_email_verified, phone: false
	}
	if p.format == "email" || p.format == "idn-email" {
		return looksEmail
	}
	name := splitWords(p.name)
	if looks := d.byName(name); looks != "" {
		return looks
	}
	if looks := lookup(d.inPerson, name); looks != "" && d.belongsToPerson(p) {
		return looks
	}
	return ""
}

// byName judges a name by itself.
func (d *dictionary) byName(name []string) string {
	if looks := lookup(d.whole, name); looks != "" {
		return looks
	}
	for i := range name {
		for n := min(maxTermWords, len(name)-i); n > 0; n-- {
			end := i + n
			looks := lookup(d.anywhere, name[i:end])
			if looks == "" && end == len(name) {
				looks = lookup(d.last, name[i:end])
			}
			if looks != "" && !d.about(looks, name, i, end) && !(looks == looksAddress && i > 0 && has(d.machines, name[i-1])) {
				return looks
			}
		}
		if d.personsName(name, i) && !d.about(looksName, name, i, i+1) {
			return looksName
		}
	}
	return ""
}

// about reports that the term name[start:end] is only what the name is about: email_template, has_phone, telefon_turu. A code or type of a
// special category is the datum itself: gender_code.
func (d *dictionary) about(looks string, name []string, start, end int) bool {
	if end < len(name) && looks != looksSpecial && has(d.heads, name[len(name)-1]) {
		return true
	}
	return start > 0 && has(d.openings, name[0])
}

// personsName reports that the i-th word is a person's name by the word before it (customer_name, musteriAdi) or in it (customername).
func (d *dictionary) personsName(name []string, i int) bool {
	if has(d.naming, name[i]) {
		before := i - 1
		if before > 0 && has(d.between, name[before]) {
			before--
		}
		return before >= 0 && has(d.persons, name[before])
	}
	for suffix := range d.naming {
		if person, ok := strings.CutSuffix(name[i], suffix); ok && has(d.persons, person) {
			return true
		}
	}
	return false
}

// belongsToPerson judges a name that says nothing alone ("name", "age") by what it stands in and beside.
func (d *dictionary) belongsToPerson(p property) bool {
	parent := splitWords(p.parent)
	for _, word := range parent {
		if has(d.others, word) {
			return false
		}
	}
	for i, word := range parent {
		if has(d.persons, word) || i > 0 && has(d.persons, parent[i-1]+word) || has(d.naming, word) || has(d.naming, strings.TrimPrefix(word, "full")) {
			return true
		}
	}
	return slices.ContainsFunc(p.siblings, func(sibling string) bool {
		looks := d.byName(splitWords(sibling))
		return sibling != p.name && looks != "" && looks != looksAddress && looks != looksCredential
	})
}

// lookup finds a run of words, squeezed, and with its last word in the singular.
func lookup(terms map[string]string, run []string) string {
	if len(run) == 0 {
		return ""
	}
	start := strings.Join(run[:len(run)-1], "")
	for _, last := range singulars(run[len(run)-1]) {
		if looks, ok := terms[start+last]; ok {
			return looks
		}
	}
	return ""
}

func has(set map[string]bool, word string) bool {
	return slices.ContainsFunc(singulars(word), func(w string) bool { return set[w] })
}
