// Package script is a model that follows a script: no network, no randomness, the
// same request always gives the same reply. The demo, the tests and the torture
// harness run on it.
//
// A script is a YAML (or JSON) text; unknown keys are errors with line numbers.
// The first line whose conditions all hold answers; without one the call fails
// by name, it never makes something up.
//
//	name: demo                      # the model's name in its replies
//	lines:
//	  - when:                       # every condition is optional
//	      user: '(?i)^note (.+)$'   # RE2 on the last text of the user
//	      system: 'coordinator'     # RE2 on the system prompt
//	      step: 0                   # replies of the model since that text
//	      tool: pano.write          # the newest result is this tool's
//	      result: '"rev":(\d+)'     # RE2 on that result
//	      error: false              # whether that result is an error
//	      offers: pano.write        # the request offers this tool
//	      output: triage            # the request wants JSON of this name
//	    say: 'I will note "${user.1}".'
//	    call:
//	      - tool: pano.write
//	        args: {title: '${user.1}', rev: '${result:/rev}'}
//	    stop: maxTokens             # end or toolUse by default
//	    delay_ms: 20                # before the first word
//	  - when: {user: 'overload'}
//	    fail: {reason: overloaded, message: try later, retry_after_ms: 50}
//
// In say and in the strings of args, ${user} and ${result} are the matched texts,
// ${user.1} and ${user.name} their groups, ${result:/a/0} a value of a JSON
// result by pointer (RFC 6901), and $${ is ${. An argument that is one pointer and
// nothing else keeps the type of its value.
//
// It imports kit and llm only and starts no goroutine.
package script
