package expr

import (
	"fmt"
	"slices"

	"github.com/expr-lang/expr/ast"
)

type surveyor struct {
	text    string
	chains  map[ast.Node]*Read // by the outermost node of each
	locals  map[string]bool    // defined by `let`
	called  map[ast.Node]bool  // nodes that are names of functions
	nesting map[*ast.PredicateNode]int
	problem *SyntaxError
}

// survey checks an expression that expr-lang has accepted, and returns what it reads.
func survey(text string, n ast.Node) ([]Read, *SyntaxError) {
	s := &surveyor{
		text:    text,
		chains:  map[ast.Node]*Read{},
		locals:  map[string]bool{},
		called:  map[ast.Node]bool{},
		nesting: map[*ast.PredicateNode]int{},
	}
	ast.Walk(&n, s)
	reads := s.reads()
	return reads, s.problem
}

// Visit records a node. expr-lang visits inner nodes first.
func (s *surveyor) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		s.chains[n] = &Read{Path: []string{n.Value}, Offset: byteOf(s.text, n.Location().From)}
	case *ast.MemberNode:
		s.member(n)
	case *ast.ChainNode:
		s.move(n.Node, n)
	case *ast.BinaryNode:
		if r := s.chains[n.Left]; r != nil && n.Operator == "??" {
			r.Optional = true
		}
	case *ast.VariableDeclaratorNode:
		s.locals[n.Name] = true
	case *ast.CallNode:
		s.call(n)
	case *ast.PredicateNode:
		s.loop(n)
	}
}

func (s *surveyor) call(n *ast.CallNode) {
	if _, plain := n.Callee.(*ast.IdentifierNode); !plain {
		s.refuse(n, "methods cannot be called")
	}
	s.called[n.Callee] = true
}

func (s *surveyor) loop(n *ast.PredicateNode) {
	inside := &deepest{of: s.nesting}
	ast.Walk(&n.Node, inside)
	if s.nesting[n] = inside.n + 1; s.nesting[n] > maxNesting {
		s.refuse(n, fmt.Sprintf("loops can be nested at most %d deep", maxNesting))
	}
}

func (s *surveyor) refuse(n ast.Node, why string) {
	if s.problem == nil {
		s.problem = &SyntaxError{Offset: byteOf(s.text, n.Location().From), Message: why}
	}
}

// move extends a chain from one node to the node around it.
func (s *surveyor) move(from, to ast.Node) *Read {
	r := s.chains[from]
	if r != nil {
		delete(s.chains, from)
		s.chains[to] = r
	}
	return r
}

func (s *surveyor) member(n *ast.MemberNode) {
	name, named := n.Property.(*ast.StringNode)
	if !named {
		return
	}
	if r := s.move(n.Node, n); r != nil {
		r.Path = append(r.Path, name.Value)
		r.Optional = r.Optional || n.Optional
		r.Offset = byteOf(s.text, name.Location().From)
	}
}

func (s *surveyor) reads() []Read {
	var out []Read
	for n, r := range s.chains {
		if r.Path[0] == "$env" {
			if r.Path = r.Path[1:]; len(r.Path) == 0 {
				s.refuse(n, "`$env` needs a name, such as $env[\"a name\"]")
				continue
			}
		}
		if !s.called[n] && !s.locals[r.Path[0]] {
			out = append(out, *r)
		}
	}
	slices.SortFunc(out, func(a, b Read) int { return a.Offset - b.Offset })
	return out
}

// deepest finds the depth of nested loops.
type deepest struct {
	of map[*ast.PredicateNode]int
	n  int
}

// Visit implements ast.Visitor.
func (d *deepest) Visit(node *ast.Node) {
	if n, ok := (*node).(*ast.PredicateNode); ok {
		d.n = max(d.n, d.of[n])
	}
}
