package validate

import (
	"strings"
	"testing"
)

func TestPersonalNamesAreSeen(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		looksName: `first_name firstName FIRST_NAME firstname lastName last_name surname familyName middle_name maidenName fullName full_name nickname nick_name
			customer_name customerName customername patientName contact_name userDisplayName recipientName owner_full_name
			ad_soyad adSoyad adsoyad AdıSoyadı soyad soyadi soyadı Soyadı SOYADI soyisim isim_soyisim kizlik_soyadi kızlıkSoyadı
			musteri_adi müşteriAdı musteriadi hastaAdi alici_adi gonderen_ismi baba_adi anneAdi cocuk_adi motherName`,
		looksEmail: `email e_mail eMail EMail e-mail EMAIL emails email_address emailAddress contactEmail customer_email2 email_hash work_email recipientEmails
			mail user_mail mailAddress eposta e_posta ePosta E-Posta epostaAdresi e_posta_adresi epostalar eposta_adresleri mail_adresi`,
		looksPhone: `phone phones phone_number phoneNumber PHONE home_phone mobilePhone mobile mobile_no cellPhone cell_number telephone tel telNo fax msisdn
			contactPhone1 whatsapp whatsapp_number telefon telefonNo telefon_numarasi telefonu ev_telefonu cepTelefonu cep cep_no gsm gsm_no gsmNumarasi
			faks telefonlar`,
		looksAddress: `address address1 addressLine1 billing_address shippingAddress addresses street street_name streetAddress house_number postal_code postalCode
			postcode zip_code zipCode zip billing_zip adres adresi Adres fatura_adresi teslimatAdresi adresler sokak sokak_adi cadde mahalle posta_kodu postaKodu
			company_address`,
		looksBirth: `birth_date birthDate birthdate birthday date_of_birth dateOfBirth dateofbirth dob DOB birthYear place_of_birth birthCountry born_at bornOn
			dogum_tarihi dogumTarihi dogumtarihi doğum_tarihi DoğumTarihi DOĞUM_TARİHİ DOGUM_TARIHI dogum_yeri doğumYılı dogum_ulkesi`,
		looksNationalID: `tckn TCKN tcKimlikNo TCKimlikNo tc_kimlik_no tc_no tc kimlik_no kimlikNo KİMLİK_NO kimlikNumarasi kimlik vkn VKN vergi_no vergiNo vergino
			vergi_numarasi vergiKimlikNo ssn SSN customerSsn social_security_number national_id nationalId national_id_number nationalIdentityNumber tax_id taxId
			taxNumber tax_no tin vat_number passport passportNo passport_number pasaport pasaport_no ehliyet ehliyetNo driver_license drivers_licence
			identity_number id_card_number sgk_no sicil_no`,
		looksFinance: `iban IBAN ibanNo iban_number customer_iban bank_account bankAccountNumber account_number accountHolder card_number cardNumber
			credit_card_number cvv  salary account_holder_name maas maaşı hesap_no hesapNumarası kart_no kartNumarasi cardHolderName kart_sahibi`,
		looksOnline:     `ip ipv4 ip_address ipAddress IPAddress client_ip remoteIp user_ip source_ip username userName user_name user_login login kullanici_adi kullanıcıAdı mac_address imei ip_adresi`,
		looksVehicle:    `plaka plakaNo license_plate licensePlateNumber`,
		looksSpecial:    `gender gender_code cinsiyet nationality uyruk uyrugu marital_status medeni_hal medeniHali religion din ethnicity bloodType kan_grubu diagnosis diagnoses allergies teshis`,
		looksCredential: `password user_password parola şifre sifre`,
	}
	d := newDictionary()
	for want, names := range tests {
		for _, name := range strings.Fields(names) {
			if got := d.looksLike(property{name: name}); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	}
}

func TestNamesOfThingsAreNotPersonal(t *testing.T) {
	t.Parallel()
	names := `filename file_name fileName event_name eventName hostname host_name product_name productName company_name companyName firma_adi urunAdi dosya_adi
		brand_name role_name name title label nameserver namespace tag_name step_name user_group_name
		id ids order_id customer_id customerId user_id uuid amount total currency status state type kind code count quantity price vat_rate tax tax_rate taxAmount
		created_at updated_at issued_at due_date date time timestamp version number no invoice_no fatura_no fatura_tarihi siparisNo sipariş_tarihi tutar kdv
		ad_id ad_campaign adGroup ads ad advert advertisement adet adedi
		email_template emailTemplateId email_verified emailVerified is_email_verified email_count email_sent_at emailStatus email_domain emailSubject send_email
		has_phone phone_type phoneModel phone_verified phone_country_code telefon_turu telefonOnayi eposta_onayi epostaSablonu e_posta_izni
		address_type addressId address_count adres_turu adresTipi server_address listenAddress contract_address wallet_address warehouse_address depo_adresi
		iban_country_code card_type cardBrand salary_currency passport_type
		mobile_app_version mobileOs mailbox mail_server hotel telemetry smartphone iphone agent agenda page package usage image message language
		street_view_url dine dinner during tinder tint tcp tcp_port vkontakte embrace brace trace sex_ed essex adresses_total
		data payload items lines description notes subject category region city country il ilce sehir ulke
		passwordChangedAt password_reset_url password_policy login_count last_login login_at ip_version age yas latitude location photo`
	d := newDictionary()
	for _, name := range strings.Fields(names) {
		if got := d.looksLike(property{name: name}); got != "" {
			t.Errorf("%s looks like %s", name, got)
		}
	}
}

func TestAWordThatSaysNothingAloneIsJudgedByWhatItBelongsTo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		property property
		want     string
	}{
		{property{name: "name", parent: "customer"}, looksName},
		{property{name: "name", parent: "customers"}, looksName},
		{property{name: "name", parent: "Customer"}, looksName},
		{property{name: "name", parent: "customer.created"}, looksName},
		{property{name: "name", parent: "billTo"}, looksName},
		{property{name: "name", parent: "product"}, ""},
		{property{name: "name", parent: "customer_company"}, ""},
		{property{name: "name", parent: "invoice.issued"}, ""},
		{property{name: "name", parent: "invoice.issued", siblings: []string{"name", "email", "total"}}, looksName},
		{property{name: "name", parent: "supplier", siblings: []string{"name", "email"}}, ""},
		{property{name: "name", parent: "line", siblings: []string{"name", "address", "total"}}, ""},
		{property{name: "ad", parent: "müşteri"}, looksName},
		{property{name: "ad", siblings: []string{"ad", "soyad"}}, looksName},
		{property{name: "Adı", siblings: []string{"Adı", "Soyadı"}}, looksName},
		{property{name: "ad", siblings: []string{"ad", "campaign"}}, ""},
		{property{name: "isim", parent: "kisi"}, looksName},
		{property{name: "first", parent: "name"}, looksName},
		{property{name: "last", parent: "fullname"}, looksName},
		{property{name: "given", parent: "name"}, looksName},
		{property{name: "first", parent: "page"}, ""},
		{property{name: "image", siblings: []string{"image", "email"}}, looksImage},
		{property{name: "image", parent: "product", siblings: []string{"image", "price"}}, ""},
		{property{name: "age", parent: "patient"}, looksAge},
		{property{name: "age", parent: "cache"}, ""},
		{property{name: "lat", parent: "driver"}, looksLocation},
		{property{name: "lat", parent: "store"}, ""},
		{property{name: "photo", parent: "employee"}, looksImage},
	}
	d := newDictionary()
	for _, test := range tests {
		if got := d.looksLike(test.property); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.property, got, test.want)
		}
	}
}

func TestTypeAndFormatDecideBeforeTheName(t *testing.T) {
	t.Parallel()
	tests := []struct {
		property property
		want     string
	}{
		{property{name: "email", typ: "boolean"}, ""},
		{property{name: "phone", typ: "null"}, ""},
		{property{name: "phone"}, looksPhone},
		{property{name: "phone", typ: "integer"}, looksPhone},
		{property{name: "reply_to", typ: "string", format: "email"}, looksEmail},
		{property{name: "reply_to", typ: "string", format: "idn-email"}, looksEmail},
		{property{name: "reply_to", typ: "string", format: "uri"}, ""},
	}
	d := newDictionary()
	for _, test := range tests {
		if got := d.looksLike(test.property); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.property, got, test.want)
		}
	}
}

// A term that nothing matches is a typing error in the lists: it must be found in the spellings that schemas use.
func TestEveryTermIsFoundByItsOwnName(t *testing.T) {
	t.Parallel()
	d := newDictionary()
	for _, list := range []map[string]string{d.anywhere, d.last, d.whole} {
		for term := range list {
			for _, spelling := range []string{term, strings.ToUpper(term), strings.ToUpper(term[:1]) + term[1:]} {
				if d.looksLike(property{name: spelling}) == "" {
					t.Errorf("%q is not found as %q", term, spelling)
				}
			}
		}
	}
	for term := range d.inPerson {
		if d.looksLike(property{name: term, parent: "customer"}) == "" {
			t.Errorf("%q of a customer is not found", term)
		}
	}
}
