package memory

import "strings"

// stopWords returns the English words that carry grammar and no content, by
// part of speech. They are neither indexed nor searched for.
func stopWords() map[string]bool {
	m := map[string]bool{}
	for _, group := range [...]string{
		"a an the", // articles
		"i me my mine we us our ours you your yours he him his she her hers it its they them their theirs", // pronouns
		"myself yourself himself herself itself ourselves themselves",
		"this that these those such same other own each both few more most some any all no nor not only", // determiners
		"who whom whose which what when where why how",                                                   // questions
		"am is are was were be been being have has had having do does did doing done",                    // auxiliaries
		"can could will would shall should may might must",
		"of in on at by for from to with without into onto about above below over under between through during before after against until up down out off again further", // prepositions
		"and or but if then than because as while so though although",                                                                                                    // conjunctions
		"there here now just too very once also",                                                                                                                         // adverbs that point
	} {
		for w := range strings.FieldsSeq(group) {
			m[w] = true
		}
	}
	return m
}
