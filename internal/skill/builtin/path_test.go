package builtin

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/witan-run/witan/internal/kit/fault"
)

// FuzzPathsStayInTheFolder writes wherever a path that passes leads, and looks
// that nothing appears beside the folder.
func FuzzPathsStayInTheFolder(f *testing.F) {
	for _, s := range []string{"a", "a/b", "../x", "a/../../x", "/etc/x", "a\\..\\x", "link/x", ".", "con", "a//b", "ä/日本"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if checkFilePath(p) != nil {
			return
		}
		if !filepath.IsLocal(p) || strings.Contains(p, "..") && filepath.Clean(p) != p {
			t.Fatalf("%q passes", p)
		}
		base := t.TempDir()
		in := filepath.Join(base, "in")
		if err := os.Mkdir(in, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("..", filepath.Join(in, "link")); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(in)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if _, err := stat(root, p); err == nil || fault.Is(err, fault.NotFound) {
			if err := makeDirs(root, p); err == nil {
				_ = replace(root, p, ".witan-t", []byte("x"), 0o600, true)
			}
		}
		all, err := os.ReadDir(base)
		if err != nil || len(all) != 1 {
			t.Fatalf("%q wrote beside the folder: %v", p, all)
		}
	})
}

func TestAddressesThatNobodyOutsideReaches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.216.34": true, "2606:4700:4700::1111": true, "2a00:1450:4001:81b::200e": true, "172.32.0.1": true, "100.128.0.1": true,
		"127.0.0.1": false, "127.255.255.254": false, "0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "100.100.100.200": false, "100.127.255.255": false, "192.0.0.192": false,
		"168.63.129.16": false, "198.18.0.1": false, "192.0.2.1": false, "198.51.100.7": false, "203.0.113.9": false, "224.0.0.1": false, "239.255.255.250": false,
		"240.0.0.1": false, "255.255.255.255": false, "192.88.99.1": false,
		"::": false, "::1": false, "::ffff:8.8.8.8": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::8.8.8.8": false, "::ffff:0:8.8.8.8": false,
		"64:ff9b::8.8.8.8": false, "64:ff9b::a9fe:a9fe": false, "64:ff9b:1::1": false, "2002:7f00:1::": false, "2002:0808:0808::1": false, "2001::1": false,
		"2001:20::1": false, "2001:db8::1": false, "fc00::1": false, "fd00:ec2::254": false, "fe80::1": false, "fec0::1": false, "ff02::1": false,
		"100::1": false, "5f00::1": false, "3fff::1": false, "4000::1": false, "fe80::1%eth0": false, "2606:4700:4700::1111%x": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("public(%s) = %t", text, got)
		}
	}
}

// FuzzNoWayToAPrivateAddress puts IPv4 addresses into every form of IPv6 that
// routers may take apart.
func FuzzNoWayToAPrivateAddress(f *testing.F) {
	f.Add(uint32(0x7f000001), uint8(0))
	f.Add(uint32(0xa9fea9fe), uint8(3))
	f.Add(uint32(0x0a000001), uint8(2))
	f.Fuzz(func(t *testing.T, v4 uint32, form uint8) {
		b := [4]byte{byte(v4 >> 24), byte(v4 >> 16), byte(v4 >> 8), byte(v4)}
		a := netip.AddrFrom4(b)
		if public(a) && (a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified()) {
			t.Fatalf("%s passes", a)
		}
		var six [16]byte
		switch form % 5 {
		case 0: // mapped
			six[10], six[11] = 0xff, 0xff
			copy(six[12:], b[:])
		case 1: // compatible
			copy(six[12:], b[:])
		case 2: // 6to4
			six[0], six[1] = 0x20, 0x02
			copy(six[2:], b[:])
		case 3: // NAT64
			six[1], six[2], six[3] = 0x64, 0xff, 0x9b
			copy(six[12:], b[:])
		case 4: // Teredo, inverted
			six[0], six[1] = 0x20, 0x01
			for i := range b {
				six[12+i] = ^b[i]
			}
		}
		if public(netip.AddrFrom16(six)) {
			t.Fatalf("%s passes", netip.AddrFrom16(six))
		}
	})
}

func TestTheGuardLooksAtTheConnectedAddress(t *testing.T) {
	t.Parallel()
	own := guard{own: ownAddresses("203.1.113.5/24", "2606:4700::5/64")}
	dev := guard{loopback: true, own: own.own}
	for _, c := range []struct {
		g                guard
		network, address string
		ok               bool
	}{
		{own, "tcp4", "8.8.8.8:443", true}, {own, "tcp6", "[2606:4700::6]:80", true}, {own, "tcp4", "8.8.8.8:22", false}, {own, "tcp4", "8.8.8.8:6379", false},
		{own, "tcp4", "127.0.0.1:80", false}, {own, "tcp6", "[::1]:80", false}, {own, "tcp6", "[::ffff:127.0.0.1]:80", false}, {own, "udp4", "8.8.8.8:443", false},
		{own, "unix", "/run/x.sock", false}, {own, "tcp4", "nonsense", false}, {own, "tcp4", "203.1.113.5:443", false}, {own, "tcp6", "[2606:4700::5]:443", false},
		{dev, "tcp4", "127.0.0.1:12345", true}, {dev, "tcp6", "[::1]:12345", true}, {dev, "tcp4", "10.0.0.1:80", false}, {dev, "tcp6", "[::ffff:127.0.0.1]:80", false},
		{dev, "tcp4", "169.254.169.254:80", false},
	} {
		if err := c.g.control(c.network, c.address, nil); (err == nil) != c.ok {
			t.Errorf("loopback %t: %s %s: %v", c.g.loopback, c.network, c.address, err)
		}
	}
}

func FuzzURLsThatPassAreWeb(f *testing.F) {
	for _, s := range []string{"https://a.example/x?y#z", "http://[::1]/", "ftp://x", "http://user:pw@x/", "http://x\\@y/", "http://2130706433/", "//x", "http:x", "http://a%00b/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := checkURL(raw)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Hostname() == "" || u.Fragment != "" || strings.ContainsAny(u.Host, "\\@%/ ") {
			t.Fatalf("%q passes as %q", raw, u)
		}
		if again, err := checkURL(u.String()); err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
			t.Fatalf("%q reads as another URL the second time: %v, %v", raw, again, err)
		}
	})
}
