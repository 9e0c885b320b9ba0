package api

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/witan-run/witan/internal/identity"
	"github.com/witan-run/witan/internal/kit/fault"
)

// document renders the table as an OpenAPI 3.1 document. It is made once, at the
// start: the table is the truth and this its shape for programs.
func (a *API) document() ([]byte, error) {
	s := newSchemas()
	s.components["Id"] = object{"type": "string", "pattern": "^[0-9a-hjkmnp-tv-z]{26}$", "description": "26 characters of Crockford base32; sorts by time"}
	s.of(reflect.TypeFor[Problem]())
	s.components["Mark"] = s.structure(reflect.TypeFor[markView]())
	s.components["VerifyLine"] = s.structure(reflect.TypeFor[verifyLine]())
	s.components["Posted"] = s.structure(reflect.TypeFor[postedBody]())
	paths := object{}
	for _, r := range a.routes {
		item, _ := paths[r.Path].(object)
		if item == nil {
			item = object{}
			paths[r.Path] = item
		}
		op, err := a.operation(s, r)
		if err != nil {
			return nil, err
		}
		item[strings.ToLower(r.Method)] = op
	}
	doc := object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info":              object{"title": "Witan", "version": orDefault(a.Version, "dev"), "description": "People and agents at work, over one journal. Ids are 26 characters, times RFC 3339, members camelCase. Every error is a problem document (RFC 9457) whose kind is the word to branch on."},
		"servers":           []object{{"url": strings.TrimRight(a.PublicURL, "/")}},
		"paths":             paths,
		"components": object{
			"schemas": s.components,
			"responses": object{"Problem": object{"description": "What was wrong, and what to do.",
				"content": object{"application/problem+json": object{"schema": object{"$ref": "#/components/schemas/Problem"}}}}},
			"securitySchemes": object{
				"token":      object{"type": "http", "scheme": "bearer", "description": "a personal API token (wtn_…)"},
				"session":    object{"type": "apiKey", "in": "cookie", "name": identity.CookieName(a.public.Scheme == "https")},
				"queryToken": object{"type": "apiKey", "in": "query", "name": "token", "description": "where a client cannot set headers"},
				"signature":  object{"type": "apiKey", "in": "header", "name": headerSignature, "description": "HMAC-SHA256 of a channel's own secret"},
			},
		},
	}
	if s.err != nil {
		return nil, fault.Wrap(fault.Internal, s.err, "make the OpenAPI document")
	}
	return json.Marshal(doc)
}

func orDefault(s, otherwise string) string {
	or(&s, otherwise)
	return s
}

func (a *API) operation(s *schemas, r Route) (object, error) {
	row, ok := identity.LookupAct(r.Act)
	if !ok {
		return nil, fault.New(fault.Internal, "%s names %q, which is no act", r.Pattern(), r.Act)
	}
	op := object{"operationId": operationID(r), "summary": r.Doc, "tags": []string{tag(r.Path)}, "x-witan-act": r.Act,
		"responses": object{strconv.Itoa(r.Status): a.success(s, r), "default": object{"$ref": "#/components/responses/Problem"}}}
	security := []object{}
	if !row.Public {
		security = append(security, object{"token": []string{}}, object{"session": []string{}})
		if r.QueryToken {
			security = append(security, object{"queryToken": []string{}})
		}
		if r.Signed {
			security = append(security, object{"signature": []string{}})
		}
	}
	op["security"] = security
	params := []object{}
	for i := range r.in.NumField() {
		f := r.in.Field(i)
		if f.Name == "Body" {
			op["requestBody"] = body(s, r, f)
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			if name := f.Tag.Get(in); name != "" {
				p := object{"name": name, "in": in, "schema": s.of(f.Type), "required": in == "path"}
				if doc := f.Tag.Get("doc"); doc != "" {
					p["description"] = doc
				}
				params = append(params, p)
			}
		}
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	return op, nil
}

func (a *API) success(s *schemas, r Route) object {
	out := object{"description": http.StatusText(r.Status)}
	switch {
	case r.Media == "":
	case r.out != reflect.TypeFor[none]():
		out["content"] = object{r.Media: object{"schema": s.of(r.out)}}
	default:
		out["content"] = object{r.Media: object{"schema": rawSchema(r.Media)}}
	}
	return out
}

// rawSchema describes answers that are no one JSON document.
func rawSchema(media string) object {
	switch media {
	case "text/event-stream":
		return object{"type": "string", "description": "events whose data is a Mark"}
	case "application/x-ndjson":
		return object{"type": "string", "description": "one VerifyLine a line"}
	case "application/json":
		return object{"type": "object"}
	}
	return object{"type": "string"}
}

func body(s *schemas, r Route, f reflect.StructField) object {
	schema := object{"type": "string"}
	switch {
	case f.Tag.Get("schema") == "posted":
		schema = object{"$ref": "#/components/schemas/Posted"}
	case f.Type != reflect.TypeFor[[]byte]():
		schema = s.of(f.Type)
	}
	content := object{}
	for _, media := range r.Accepts {
		content[media] = object{"schema": schema}
		if media == "multipart/form-data" {
			content[media] = object{"schema": object{"type": "object", "required": []string{"message"},
				"properties":           object{"message": schema},
				"additionalProperties": object{"type": "string", "contentEncoding": "binary"}}}
		}
	}
	if len(r.Accepts) == 0 {
		content["application/json"] = object{"schema": schema}
	}
	return object{"required": f.Tag.Get("optional") == "", "content": content}
}

// tag is the place that a path belongs to.
func tag(path string) string {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, "/api/v1"), "/"), "/")
	return strings.TrimSuffix(parts[0], ".json")
}

// operationID is the path as a name: getApprovalsById.
func operationID(r Route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(r.Method))
	for _, part := range strings.FieldsFunc(strings.TrimPrefix(r.Path, "/api/v1"), func(c rune) bool { return strings.ContainsRune("/.-", c) }) {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			b.WriteString("By")
			part = strings.TrimSuffix(name, "}")
		}
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
