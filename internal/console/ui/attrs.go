package ui

import "github.com/a-h/templ"

// themeAttr puts the chosen theme on the document; without one the system decides.
func themeAttr(theme string) templ.Attributes {
	if theme != "light" && theme != "dark" {
		return nil
	}
	return templ.Attributes{"data-theme": theme}
}

// here marks the current page for assistive technology.
func here(on bool) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"aria-current": "page"}
}

// current marks the selected row of a list.
func current(on bool) templ.Attributes {
	if !on {
		return nil
	}
	return templ.Attributes{"aria-current": "true"}
}

// onHover says more of what is printed short.
func onHover(full string) templ.Attributes {
	if full == "" {
		return nil
	}
	return templ.Attributes{"title": full}
}

// lang tags outside text with its language when that is known.
func lang(tag string) templ.Attributes {
	if tag == "" {
		return nil
	}
	return templ.Attributes{"lang": tag}
}

// openAttr opens a details element that the address or an error asks for.
func openAttr(open bool) templ.Attributes {
	if !open {
		return nil
	}
	return templ.Attributes{"open": true}
}

// invalid ties a control to its refusal.
func invalid(message, id string) templ.Attributes {
	if message == "" {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true", "aria-describedby": id}
}

// alertAttr announces an alarm once, while the card still asks.
func alertAttr(open bool) templ.Attributes {
	if !open {
		return nil
	}
	return templ.Attributes{"role": "alert"}
}

func fieldErrors(fields []Field) bool {
	for _, f := range fields {
		if f.Error != "" {
			return true
		}
	}
	return false
}

// offReason never leaves a disabled button without its reason.
func offReason(why string) string {
	if why == "" {
		return "not offered by the target"
	}
	return why
}

// calm takes the amber off the history of a card that no longer asks.
func calm(in []Step, open bool) []Step {
	if open {
		return in
	}
	out := make([]Step, len(in))
	copy(out, in)
	for i := range out {
		if out[i].Status == StatusNeed {
			out[i].Status = StatusDone
		}
	}
	return out
}

// ruleStatus keeps amber for a rule that asks now.
func ruleStatus(a Approval) Status {
	if a.open() {
		return StatusNeed
	}
	return StatusDone
}
