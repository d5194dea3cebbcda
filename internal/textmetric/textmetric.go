// Package textmetric compares texts with references: words, BLEU, chrF, ROUGE, GLEU's runs, SQuAD's words and edit
// distances. Strings go in, numbers come out. Each is what its reference implementation computes, to 1e-12.
package textmetric
