// Package textmetric compares texts with references: words, BLEU, chrF, ROUGE, GLEU's n-grams, SQuAD's
// words and edit distances. Each metric agrees with its reference implementation to 1e-12.
package textmetric
