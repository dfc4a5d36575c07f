package keyring

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// instrumentation names these metrics in OpenTelemetry.
const instrumentation = "github.com/fieldcrypt/fieldcrypt/keyring"

// metrics are what a loaded keyring tells OpenTelemetry:
//
//	fieldcrypt.keyring.events      counter; attributes keyring and event
//	fieldcrypt.keyring.age         gauge, in s, since the last refresh that succeeded
//	fieldcrypt.keyring.revision    gauge
//
// Their attributes are names from the configuration and the kinds of events.
type metrics struct {
	events       metric.Int64Counter
	registration metric.Registration
	name         attribute.KeyValue
}

func newMetrics(provider metric.MeterProvider, k *Keyring) (*metrics, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter(instrumentation)
	m := &metrics{name: attribute.String("keyring", k.name)}
	var err error
	if m.events, err = meter.Int64Counter("fieldcrypt.keyring.events", metric.WithUnit("{event}"), metric.WithDescription("What happened to a loaded keyring.")); err != nil {
		return nil, err
	}
	age, err := meter.Float64ObservableGauge("fieldcrypt.keyring.age", metric.WithUnit("s"), metric.WithDescription("Time since the keyring was last known to be what is stored."))
	if err != nil {
		return nil, err
	}
	revision, err := meter.Int64ObservableGauge("fieldcrypt.keyring.revision", metric.WithUnit("{revision}"), metric.WithDescription("The revision of the keyring that is in use."))
	if err != nil {
		return nil, err
	}
	m.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		of := metric.WithAttributes(m.name)
		o.ObserveFloat64(age, k.age().Seconds(), of)
		o.ObserveInt64(revision, int64(k.Revision()), of)
		return nil
	}, age, revision)
	return m, err
}

func (m *metrics) count(kind EventKind) {
	m.events.Add(context.Background(), 1, metric.WithAttributes(m.name, attribute.String("event", string(kind))))
}

// close ends the observation of a keyring that was closed.
func (m *metrics) close() { _ = m.registration.Unregister() }
