// Package manifest holds the types of a skill's manifest and of the catalogue:
// what a skill is called, what it takes and gives, how dangerous it is, and how
// an attempt that was cut off must be treated.
//
// Invariants:
//   - a manifest is strict: an unknown key is an error that names its line;
//   - every field changes what happens somewhere (service_manifest_test.go of
//     package skill has one test per field); a field nobody reads is not added;
//   - equal manifests have equal hashes, and any change makes another hash, so
//     that an approval given for one text cannot serve another (INV-7);
//   - what is not said is read in the careful way: class once, output outside.
//
// It imports kit and event, never another domain, and may be imported by agent,
// mind and work (types only). It starts no goroutine.
package manifest
