package outboxstore

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/fieldcrypt/fieldcrypt/envelope"
)

// instrumentation names these metrics in OpenTelemetry. Their attributes are words of this package: no id, no name of a customer's.
const instrumentation = "github.com/fieldcrypt/fieldcrypt/outboxstore"

// outcome is what became of a row.
type outcome string

const (
	outcomeRotated outcome = "rotated"
	outcomeSkipped outcome = "skipped"
	outcomeFailed  outcome = "failed"
)

func meterOf(provider metric.MeterProvider) metric.Meter {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	return provider.Meter(instrumentation)
}

func newCounter(provider metric.MeterProvider, name, unit, description string) (metric.Int64Counter, error) {
	return meterOf(provider).Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description))
}

// reencryptMetrics are what Reencrypt tells OpenTelemetry.
type reencryptMetrics struct{ rows metric.Int64Counter }

func newReencryptMetrics(provider metric.MeterProvider) (*reencryptMetrics, error) {
	rows, err := newCounter(provider, "fieldcrypt.reencrypt.rows", "{row}", "Rows that a re-encryption is done with, by outcome.")
	return &reencryptMetrics{rows}, err
}

func (m *reencryptMetrics) add(ctx context.Context, what outcome, n int) {
	if n > 0 {
		m.rows.Add(ctx, int64(n), metric.WithAttributes(attribute.String("outcome", string(what))))
	}
}

// verifyMetrics are what Verify tells OpenTelemetry.
type verifyMetrics struct{ rows, found metric.Int64Counter }

func newVerifyMetrics(provider metric.MeterProvider) (*verifyMetrics, error) {
	rows, err := newCounter(provider, "fieldcrypt.verify.rows", "{row}", "Rows that were verified.")
	if err != nil {
		return nil, err
	}
	found, err := newCounter(provider, "fieldcrypt.verify.findings", "{finding}", "Findings and warnings, by kind and severity.")
	return &verifyMetrics{rows, found}, err
}

func (m *verifyMetrics) finding(ctx context.Context, f envelope.Finding) {
	m.found.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", string(f.Kind)), attribute.String("severity", string(f.Severity))))
}
