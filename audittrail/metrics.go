package audittrail

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// instrumentation names these metrics in OpenTelemetry.
const instrumentation = "github.com/fieldcrypt/fieldcrypt/audittrail"

// metrics are what a Recorder tells OpenTelemetry:
//
//	fieldcrypt.audit.entries    counter of entries written; attributes operation and result
//	fieldcrypt.audit.failures   counter of entries that could not be written; the same
//
// The attributes are words of the code that records: no id, no name of a customer's.
type metrics struct{ entries, failures metric.Int64Counter }

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter(instrumentation)
	entries, err := meter.Int64Counter("fieldcrypt.audit.entries", metric.WithUnit("{entry}"), metric.WithDescription("Entries written into the audit trail, by operation and result."))
	if err != nil {
		return nil, err
	}
	failures, err := meter.Int64Counter("fieldcrypt.audit.failures", metric.WithUnit("{entry}"), metric.WithDescription("Entries that could not be written into the audit trail, by operation and result."))
	return &metrics{entries, failures}, err
}

// count tells of an entry that was written, or was not.
func (m *metrics) count(ctx context.Context, e Entry, err error) {
	counter := m.entries
	if err != nil {
		counter = m.failures
	}
	counter.Add(ctx, 1, metric.WithAttributes(attribute.String("operation", e.Operation), attribute.String("result", string(e.Result))))
}
