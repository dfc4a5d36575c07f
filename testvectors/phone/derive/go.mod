module github.com/fieldcrypt/fieldcrypt/testvectors/phone/derive

go 1.26.0

require github.com/nyaruka/phonenumbers v1.8.1

require (
	golang.org/x/text v0.23.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
