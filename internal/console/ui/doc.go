// Package ui is the face of the console: pages and parts as pure functions of typed
// view models. A handler fills a view model and calls a page's Render; nothing here
// reads a store, a clock, a request or the environment.
//
// Invariants:
//
//   - A sentence that states a fact carries a Ref to the event that supports it. A
//     Fact without a Ref prints nothing, so a page filled with empty evidence claims
//     nothing (a test renders every page that way).
//   - Strings are data. They reach the page only through templ's escaping; nothing
//     here calls templ.Raw on a value that came in.
//   - Every decision is a plain form with method post to the same origin. A script may
//     add keys, live update and passkeys; it is never needed to decide (passkeys are
//     the one exception, and the password stands beside them).
//   - No inline script, no style element, no style attribute: the page runs under a
//     policy of script-src 'self' and style-src 'self'.
//   - Amber (the need tokens) is drawn only where a person is needed, where a rule says
//     ASK, where an effect is unknown, and as the hatch of outside bytes.
//   - An argument, a diff and a rule are never cut: they wrap.
//
// It imports the standard library and the templ runtime, nothing of Witan. It starts no
// goroutine. The generated *_templ.go files are committed; a test proves them fresh.
package ui

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.1118 generate -path .
