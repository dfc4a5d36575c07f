module github.com/fieldcrypt/fieldcrypt/bench

go 1.26.0

require (
	github.com/fieldcrypt/fieldcrypt v0.0.0
	github.com/santhosh-tekuri/jsonschema/v5 v5.3.1
	github.com/tink-crypto/tink-go/v2 v2.9.0
)

require (
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	golang.org/x/crypto v0.59.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.44.0 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)

replace github.com/fieldcrypt/fieldcrypt => ../
