// Writes FHIR R4 resources of people who do not exist, one a line, the same ones each time: node people.js COUNT
// It runs where @faker-js/faker is installed (see testenv.NodeModules).
import("@faker-js/faker").then(({fakerTR, fakerDE, fakerEN, fakerAR, fakerJA}) => {
	const count = Number(process.argv[process.argv.length - 1])
	const locales = [fakerTR, fakerDE, fakerEN, fakerAR, fakerJA]
	locales.forEach((f, i) => {
		f.seed(20261130 + i)
		f.setDefaultRefDate("2026-01-01T00:00:00Z")
	})

	const some = (f, p, make) => f.datatype.boolean({probability: p}) ? make() : undefined
	// FHIR has no empty lists.
	const list = (f, min, max, make) => {
		const items = Array.from({length: f.number.int({min, max})}, make)
		return items.length ? items : undefined
	}

	// FHIR's string has no leading or trailing white space.
	const word = s => s.trim()

	const name = f => ({
		use: f.helpers.arrayElement(["official", "usual", "maiden", "nickname"]),
		family: word(f.person.lastName()),
		given: list(f, 1, 3, () => word(f.person.firstName())),
		prefix: some(f, 0.3, () => [word(f.person.prefix()) || "Dr."]),
		period: some(f, 0.2, () => ({start: f.date.past({years: 20}).toISOString().slice(0, 10)})),
	})
	const telecom = f => f.helpers.arrayElement([
		() => ({system: "phone", value: f.phone.number(), use: "mobile", rank: 1}),
		() => ({system: "email", value: f.internet.email(), use: "home"}),
		() => ({system: "url", value: f.internet.url(), use: "work"}),
	])()
	const address = f => ({
		use: "home",
		type: "both",
		line: list(f, 1, 2, () => word(f.location.streetAddress())),
		city: word(f.location.city()),
		state: some(f, 0.5, () => word(f.location.state())),
		postalCode: word(f.location.zipCode()),
		country: f.location.countryCode(),
		extension: some(f, 0.2, () => [{url: "http://hl7.org/fhir/StructureDefinition/geolocation", extension: [
			{url: "latitude", valueDecimal: f.location.latitude()}, {url: "longitude", valueDecimal: f.location.longitude()}]}]),
	})
	const coding = (system, code, display) => ({coding: [{system, code, display}], text: display})
	const birthDate = f => f.date.birthdate().toISOString().slice(0, 10)
	const meta = f => ({versionId: String(f.number.int({min: 1, max: 9})), lastUpdated: f.date.past().toISOString(), tag: [{system: "urn:example:tag", code: "made-up"}]})
	const identifier = f => ({use: "official", system: "urn:oid:2.16.840.1.113883.4.1", value: f.string.numeric(11)})
	const gender = f => f.helpers.arrayElement(["male", "female", "other", "unknown"])

	const practitioner = (f, contained) => ({
		resourceType: "Practitioner",
		id: contained ? "doctor" : f.string.uuid(),
		meta: contained ? undefined : meta(f),
		identifier: [identifier(f)],
		active: true,
		name: list(f, 1, 2, () => name(f)),
		telecom: list(f, 0, 2, () => telecom(f)),
		address: list(f, 0, 2, () => address(f)),
		gender: gender(f),
		birthDate: birthDate(f),
		qualification: [{code: coding("http://terminology.hl7.org/CodeSystem/v2-0360|2.7", "MD", "Doctor of Medicine"), period: {start: "2001"}}],
		communication: list(f, 1, 2, () => coding("urn:ietf:bcp:47", "tr", "Turkish")),
	})
	const organization = f => ({resourceType: "Organization", id: "hospital", active: true, name: word(f.company.name()), telecom: [telecom(f)], address: [address(f)],
		contact: [{purpose: coding("http://terminology.hl7.org/CodeSystem/contactentity-type", "ADMIN", "Administrative"), name: name(f), telecom: [telecom(f)], address: address(f)}]})
	const patient = (f, contained) => ({
		resourceType: "Patient",
		id: contained ? "patient" : f.string.uuid(),
		meta: contained ? undefined : meta(f),
		contained: contained ? undefined : some(f, 0.3, () => [practitioner(f, true), organization(f)]),
		identifier: [identifier(f)],
		active: f.datatype.boolean(),
		name: list(f, 1, 3, () => name(f)),
		telecom: list(f, 0, 3, () => telecom(f)),
		gender: gender(f),
		birthDate: birthDate(f),
		_birthDate: some(f, 0.3, () => ({extension: [{url: "http://hl7.org/fhir/StructureDefinition/patient-birthTime", valueDateTime: f.date.past().toISOString()}]})),
		deceasedBoolean: some(f, 0.2, () => false),
		address: list(f, 0, 2, () => address(f)),
		maritalStatus: coding("http://terminology.hl7.org/CodeSystem/v3-MaritalStatus", "M", "Married"),
		contact: list(f, 0, 2, () => ({
			relationship: [coding("http://terminology.hl7.org/CodeSystem/v2-0131", "N", "Next of kin")],
			name: name(f), telecom: [telecom(f)], address: address(f), gender: gender(f),
		})),
		communication: [{language: coding("urn:ietf:bcp:47", "de", "German"), preferred: true}],
		generalPractitioner: [{reference: "Practitioner/" + f.string.uuid()}],
	})
	const encounter = f => ({
		resourceType: "Encounter",
		id: f.string.uuid(),
		meta: meta(f),
		contained: some(f, 0.5, () => [patient(f, true), practitioner(f, true)]),
		status: f.helpers.arrayElement(["planned", "arrived", "in-progress", "finished"]),
		class: {system: "http://terminology.hl7.org/CodeSystem/v3-ActCode", code: "AMB", display: "ambulatory"},
		subject: {reference: "#patient", type: "Patient"},
		participant: [{type: [coding("http://terminology.hl7.org/CodeSystem/v3-ParticipationType", "PPRF", "primary performer")],
			period: {start: f.date.past().toISOString()}, individual: {reference: "#doctor"}}],
		period: {start: f.date.past().toISOString(), end: f.date.soon().toISOString()},
		reasonCode: [coding("http://snomed.info/sct", "34095006", "Dehydration")],
		hospitalization: some(f, 0.3, () => ({admitSource: coding("http://terminology.hl7.org/CodeSystem/admit-source", "emd", "From accident/emergency department")})),
		length: {value: f.number.float({min: 0, max: 90, fractionDigits: 1}), unit: "min", system: "http://unitsofmeasure.org", code: "min"},
	})

	for (let i = 0; i < count; i++) {
		const f = locales[i % locales.length]
		for (const make of [patient, practitioner, encounter]) {
			console.log(JSON.stringify(make(f, false)))
		}
	}
})
