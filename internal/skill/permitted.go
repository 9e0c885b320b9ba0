package skill

import "github.com/witan-run/witan/internal/skill/manifest"

// Under returns c as an executable gets it under a manifest: with the
// permissions that m declares. Service sets them itself; this is for whoever
// runs an executable without one, such as its tests.
func (c Call) Under(m manifest.Manifest) Call {
	c.Skill, c.permitted = m.Name, m.Permissions
	return c
}
