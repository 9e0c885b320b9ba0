package builtin

import "net"

// ownAddresses pretends that the machine has these addresses.
func ownAddresses(prefixes ...string) func() ([]net.Addr, error) {
	return func() (out []net.Addr, err error) {
		for _, p := range prefixes {
			ip, n, err := net.ParseCIDR(p)
			if err != nil {
				return nil, err
			}
			out = append(out, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		return out, nil
	}
}
