package runner

// waiting returns the pool of answers that wait for the same judge or the same embeddings. Separate pools
// keep a slow one from delaying the others.
func (r *run) waiting(a *scoring) chan struct{} {
	var of ModelRef
	if wanted := a.answer.Context.Judgements.Wanted; len(wanted) > 0 {
		of = refOf(&wanted[0].Judge.Model)
	} else {
		of = ModelRef{a.trial.Embedding.Service, a.trial.Embedding.Model}
	}
	r.pooling.Lock()
	defer r.pooling.Unlock()
	pool := r.pools[of]
	if pool == nil {
		pool = make(chan struct{}, MaxWaiting)
		r.pools[of] = pool
	}
	return pool
}
