package app

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/witan-run/witan/internal/kit/fault"
)

// traces sends spans to an OTLP/HTTP endpoint. Without one there are none, and
// nothing is sent anywhere.
type traces struct{ provider *trace.TracerProvider }

func newTraces(ctx context.Context, c Telemetry) (*traces, error) {
	if c.OTLP == "" {
		return &traces{}, nil
	}
	e, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.OTLP))
	if err != nil {
		return nil, fault.New(fault.Invalid, "traces cannot be sent there: %w", err).On("telemetry.otlp")
	}
	return &traces{trace.NewTracerProvider(trace.WithBatcher(e, trace.WithBatchTimeout(5*time.Second)),
		trace.WithResource(resource.NewSchemaless(semconv.ServiceName("witan"), semconv.ServiceVersion(Version()))))}, nil
}

// tracer returns nil when no traces are sent.
func (t *traces) tracer() oteltrace.Tracer {
	if t.provider == nil {
		return nil
	}
	return t.provider.Tracer("witan")
}

func (t *traces) close(ctx context.Context) {
	if t.provider != nil {
		_ = t.provider.Shutdown(ctx)
	}
}
