package scorers

// MaxDigits is for the limits of `number`. It has a file of its own, which goes with the kind.
const MaxDigits = maxDigits
