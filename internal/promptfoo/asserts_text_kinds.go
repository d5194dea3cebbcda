package promptfoo

// textKinds converts assertion types to scorers of the answer's text or its cost.
var textKinds map[string]func(c *converter, not bool, a src) (*scorer, string)

func init() { //nolint:gochecknoinits // the functions refer back to the table
	textKinds = map[string]func(c *converter, not bool, a src) (*scorer, string){
		"equals":                        (*converter).equals,
		"contains":                      text("contains", false),
		"icontains":                     text("contains", true),
		"starts-with":                   text("startsWith", false),
		"contains-all":                  several("containsAll", false),
		"contains-any":                  several("containsAny", false),
		"icontains-all":                 several("containsAll", true),
		"icontains-any":                 several("containsAny", true),
		"regex":                         (*converter).regex,
		"is-json":                       (*converter).isJSON,
		"contains-json":                 (*converter).containsJSON,
		"is-xml":                        (*converter).isXML,
		"levenshtein":                   (*converter).levenshtein,
		"rouge-n":                       (*converter).rouge,
		"bleu":                          (*converter).bleu,
		"gleu":                          (*converter).gleu,
		"similar":                       (*converter).similar,
		"similar:cosine":                (*converter).similar,
		"latency":                       (*converter).latency,
		"cost":                          (*converter).cost,
		"word-count":                    (*converter).words,
		"finish-reason":                 (*converter).finishReason,
		"is-refusal":                    (*converter).refusal,
		"is-valid-openai-tools-call":    (*converter).toolsCall,
		"is-valid-openai-function-call": (*converter).toolsCall,
		"is-valid-function-call":        (*converter).toolsCall,
		"tool-call-f1":                  (*converter).toolF1,
	}
}
