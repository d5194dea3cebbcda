package scorers

import "slices"

// Builtin is the table of the built-in kinds. A kind is a file and a line here; the kinds that read texts, look at the service's answer, or
// combine others are families in one file each.
func Builtin() Table {
	return withLimits(slices.Concat(
		textKinds(),
		Table{
			lengthKind(),
			levenshteinKind(),
			snapshotKind(),
			rougeKind(),
			bleuKind(),
			chrfKind(),
			gleuKind(),
			jaroWinklerKind(),
			tokenF1Kind(),
			exactMatchKind(),
			jsonKind(),
			schemaKind(),
			xmlKind(),
			numberKind(),
			choiceKind(),
			listKind(),
			refusalKind(),
			similarKind(),
			judgeKind(),
		},
		textless(serviceKinds()),
		textless(Table{
			promptFeedbackKind(),
			candidatesKind(),
			costKind(),
			toolCallsKind(),
			stepsKind(),
			toolErrorsKind(),
			labelKind(),
		}),
		Table{
			execKind(),
			exprKind(),
		},
		combinators(),
	))
}

// unlisted are the kinds that lists of scorers cannot name: blocks of a suite become them.
func unlisted() Table {
	return Table{
		classificationKind(),
	}
}
