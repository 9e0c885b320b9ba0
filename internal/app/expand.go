package app

import (
	"os"
	"reflect"
	"regexp"
	"strings"

	"github.com/witan-run/witan/internal/kit/fault"
)

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${NAME} in every text of the decoded configuration. It works
// on values, after parsing: what a variable holds can never become YAML. A
// Secret resolves its own reference.
func expand(v reflect.Value, at string) error {
	switch v.Kind() {
	case reflect.String:
		out, err := expandText(v.String(), at)
		if err == nil {
			v.SetString(out)
		}
		return err
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Secret]() {
			return nil
		}
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			if err := expand(v.Field(i), strings.TrimPrefix(at+"."+name, ".")); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := expand(v.Index(i), at); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			c := reflect.New(v.Type().Elem()).Elem()
			c.Set(v.MapIndex(k))
			if err := expand(c, at+"."+k.String()); err != nil {
				return err
			}
			v.SetMapIndex(k, c)
		}
	}
	return nil
}

func expandText(s, at string) (out string, err error) {
	return reference.ReplaceAllStringFunc(s, func(ref string) string {
		name := reference.FindStringSubmatch(ref)[1]
		v, ok := os.LookupEnv(name)
		if !ok && err == nil {
			err = fault.New(fault.Invalid, "the environment variable %s is not set", name).On(at)
		}
		return v
	}), err
}
