package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/evalrun/evalrun/eval"
)

func TestScopesAreTakenByName(t *testing.T) {
	t.Parallel()
	const base = "https://scopes.example/auth"
	for _, test := range []struct {
		base  string
		names []string
		want  []string
		says  string // of the error
	}{
		{base, nil, []string{scopeOf(base, scopeRetriever)}, ""},
		{base, []string{"retriever", scopeRetriever}, []string{scopeOf(base, scopeRetriever)}, ""},
		{"", []string{"https://other.example/whole"}, []string{"https://other.example/whole"}, ""},
		{"", []string{"retriever"}, nil, "needs the prefix of the deployment's scopes"},
		{base, []string{"retreiver"}, nil, "there is no scope"},
	} {
		names, err := scopeNames(test.names)
		var got []string
		if err == nil {
			got, err = loginScopes(test.base, names)
		}
		if test.says == "" {
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("%q: %q, %v; want %q", test.names, got, err, test.want)
			}
			continue
		}
		if eval.CodeOf(err) != eval.CodeBadInput || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%q: %v, want exit 2 and %q", test.names, err, test.says)
		}
	}
}
