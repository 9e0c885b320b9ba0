package bedrock

import (
	"strings"
	"testing"
	"time"

	"github.com/witan-run/witan/internal/kit/secret"
)

// The vectors of AWS's public SigV4 test suite: its key, date, region and service,
// and for each named case the request and the signature that must come out.
const (
	suiteID     = "AKIDEXAMPLE"
	suiteSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	suiteToken  = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
	stsToken    = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="
	unreserved  = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

var suiteTime = time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)

type hdr = map[string][]string

func TestSigV4Suite(t *testing.T) {
	t.Parallel()
	const vanilla = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	get := func(path, query string, raw bool, h hdr) signing {
		return signing{method: "GET", path: path, query: query, rawPath: raw, header: h}
	}
	post := func(query string, h hdr, body string) signing {
		return signing{method: "POST", path: "/", query: query, header: h, body: []byte(body)}
	}
	const formDigest = "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"
	form := func(contentType string) hdr {
		return hdr{"Content-Type": {contentType}, "Content-Length": {"13"}, "X-Amz-Content-Sha256": {formDigest}}
	}
	for _, c := range []struct {
		name string
		s    signing
		want string
	}{
		{"get-vanilla", get("/", "", false, nil), vanilla},
		{"get-vanilla, no path", get("", "", false, nil), vanilla},
		{"get-header-key-duplicate", get("/", "", false, hdr{"My-Header1": {"value2", "value2", "value1"}}), "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
		{"get-header-value-multiline", get("/", "", false, hdr{"My-Header1": {"value1\n  value2\n     value3"}}), "cfd34249e4b1c8d6b91ef74165d41a32e5fab3306300901bb65a51a73575eefd"},
		{"get-header-value-order", get("/", "", false, hdr{"My-Header1": {"value4", "value1", "value3", "value2"}}), "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
		{"get-header-value-trim", get("/", "", false, hdr{"My-Header1": {" value1"}, "My-Header2": {` "a   b   c"`}}), "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
		{"get-relative-normalized", get("/example/..", "", false, nil), vanilla},
		{"get-relative-unnormalized", get("/example/..", "", true, nil), "eca7ead57bb5aa5c8e28007acd4ff04e1ff9a0ff3b237ec1554a184887ff9282"},
		{"get-relative-relative-normalized", get("/example1/example2/../..", "", false, nil), vanilla},
		{"get-relative-relative-unnormalized", get("/example1/example2/../..", "", true, nil), "dc33e0856fd4baca4d7aa2146c38958283844764f38c74252a333df5e613003b"},
		{"get-slash-normalized", get("//", "", false, nil), vanilla},
		{"get-slash-unnormalized", get("//", "", true, nil), "c88bcd3d312d75078c0cd961d6deae3f4c754924b01669efcfcb439fd5e5b76e"},
		{"get-slash-dot-slash-normalized", get("/./", "", false, nil), vanilla},
		{"get-slash-dot-slash-unnormalized", get("/./", "", true, nil), "68714168e6557f8f2de0ef956fc24dc2593a4bd2961f8df51898d8a134695145"},
		{"get-slash-pointless-dot-normalized", get("/./example", "", false, nil), "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
		{"get-slash-pointless-dot-unnormalized", get("/./example", "", true, nil), "beb03f223f7deae4146464f06e29eebbee9c8afbe15c290cf07aa8b119e14cff"},
		{"get-slashes-normalized", get("//example//", "", false, nil), "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
		{"get-slashes-unnormalized", get("//example//", "", true, nil), "87cca117541a147f6df867677d98a7d80dff226d2bfca9e4ffa899665623c7e5"},
		{"get-space-normalized", get("/example space/", "", false, nil), "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
		{"get-space-unnormalized", get("/example space/", "", true, nil), "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
		{"get-unreserved", get("/"+unreserved, "", false, nil), "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
		{"get-utf8", get("/ሴ", "", false, nil), "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
		{"get-vanilla-empty-query-key", get("/", "Param1=value1", false, nil), "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
		{"get-vanilla-query-order-encoded", get("/", "Param-3=Value3&Param=Value2&%E1%88%B4=Value1", false, nil), "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
		{"get-vanilla-query-order-key-case", get("/", "Param2=value2&Param1=value1", false, nil), "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"get-vanilla-query-unreserved", get("/", unreserved+"="+unreserved, false, nil), "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
		{"get-vanilla-utf8-query", get("/", "ሴ=bar", false, nil), "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
		{"get-vanilla-with-session-token", get("/", "", false, hdr{"X-Amz-Security-Token": {suiteToken}}), "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"},
		{"post-vanilla", post("", nil, ""), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"post-header-key-sort", post("", hdr{"My-Header1": {"value1"}}, ""), "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
		{"post-header-value-case", post("", hdr{"My-Header1": {"VALUE1"}}, ""), "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
		{"post-sts-header-before", post("", hdr{"X-Amz-Security-Token": {stsToken}}, ""), "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
		{"post-vanilla-query", post("Param1=value1", nil, ""), "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
		{"post-x-www-form-urlencoded", post("", form("application/x-www-form-urlencoded"), "Param1=value1"), "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b"},
		{"post-x-www-form-urlencoded-parameters", post("", form("application/x-www-form-urlencoded; charset=utf-8"), "Param1=value1"), "328d1b9eaadca9f5818ef05e8392801e091653bafec24fcab71e7344e7f51422"},
	} {
		c.s.region, c.s.service, c.s.at = "us-east-1", "service", suiteTime
		h := hdr{"Host": {"example.amazonaws.com"}, "X-Amz-Date": {"20150830T123600Z"}}
		for k, v := range c.s.header {
			h[k] = v
		}
		c.s.header = h
		got := c.s.authorization(Credentials{AccessKeyID: suiteID, SecretAccessKey: secret.New(suiteSecret)})
		if !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=") ||
			!strings.HasSuffix(got, ", Signature="+c.want) {
			canonical, _ := c.s.canonical()
			t.Errorf("%s:\n%s\nwant signature %s, canonical request:\n%s", c.name, got, c.want, canonical)
		}
	}
}

// TestSigV4OfModelPaths pins two paths as Bedrock has them, whose colons and
// slashes are escaped on the wire and once more in the signature. The signatures
// were computed with AWS's own Python library.
func TestSigV4OfModelPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, token, want string }{
		{"/model/anthropic.claude-3-5-sonnet-20240620-v1%3A0/converse-stream", "", "35d1f3944dacd72d2a7d078f505ff43fd4f73d2ee00e0fa2b80cc0c59cb38921"},
		{"/model/arn%3Aaws%3Abedrock%3Aeu-central-1%3A123456789012%3Ainference-profile%2Feu.x-v1%3A0/converse", "AQoDtoken/+=", "188f64f3b2dd63bc19a5165908c740e2a5e0fb31f4e6ef28c5583a42e5313e3f"},
	} {
		h := hdr{"Content-Type": {"application/json"}, "Host": {"bedrock-runtime.eu-central-1.amazonaws.com"}, "X-Amz-Date": {"20150830T123600Z"}}
		if c.token != "" {
			h["X-Amz-Security-Token"] = []string{c.token}
		}
		s := signing{region: "eu-central-1", service: "bedrock", at: suiteTime, method: "POST", path: c.path, header: h, body: []byte(`{"messages":[]}`)}
		got := s.authorization(Credentials{AccessKeyID: suiteID, SecretAccessKey: secret.New(suiteSecret)})
		if !strings.HasSuffix(got, "Signature="+c.want) {
			t.Errorf("%s: %s", c.path, got)
		}
	}
}
