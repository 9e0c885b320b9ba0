package api_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/witan-run/witan/internal/api"
)

func TestEachRequestIsASpanThatTheLogNames(t *testing.T) {
	t.Parallel()
	seen := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(seen))
	h := newHouse(t, func(d *api.Deps) { d.Tracer = provider.Tracer("test") })
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	r := h.do(request{method: "GET", path: "/api/v1/events/77777777", as: h.token(h.owner), headers: map[string]string{"traceparent": "00-" + trace + "-00f067aa0ba902b7-01"}})
	spans := seen.Ended()
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	s := spans[0]
	if s.Name() != "GET /api/v1/events/{id}" || s.SpanContext().TraceID().String() != trace || s.Parent().SpanID().String() != "00f067aa0ba902b7" {
		t.Errorf("%s in %s under %s", s.Name(), s.SpanContext().TraceID(), s.Parent().SpanID())
	}
	want := map[attribute.Key]string{"http.response.status_code": "404", "http.route": "GET /api/v1/events/{id}", "witan.request": r.header.Get("X-Request-Id")}
	for _, a := range s.Attributes() {
		if v, ok := want[a.Key]; ok && a.Value.String() != v {
			t.Errorf("%s is %s, want %s", a.Key, a.Value.String(), v)
		}
		delete(want, a.Key)
	}
	if len(want) > 0 {
		t.Errorf("the span lacks %v", want)
	}
	if !strings.Contains(h.log.String(), `"trace_id":"`+trace+`"`) || !strings.Contains(h.log.String(), r.header.Get("X-Request-Id")) {
		t.Error("the log names neither trace nor request")
	}
}

func TestABodyThatStopsIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(d *api.Deps) { d.Limits.Timeout = 200 * time.Millisecond })
	conn, err := new(net.Dialer).DialContext(ctx(), "tcp", strings.TrimPrefix(h.server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/halt HTTP/1.1\r\nHost: localhost:7420\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"sc", h.token(h.owner))
	all, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 408 ") || !strings.Contains(string(all), `"kind":"timeout"`) {
		t.Errorf("%v %s", err, all)
	}
}
