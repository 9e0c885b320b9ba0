package work

// Place is the distance of two tasks that were made one after the other. Between
// two neighbours one can place twenty times before the queue is spread anew.
const Place = 1 << 20

// maxOrder bounds a sort order, so that it and what is added to it stay exact
// everywhere (integers below 2^53).
const maxOrder = 1 << 52

// between returns an order between two neighbours, or false if there is none.
// Without a neighbour on one side it steps one place away from the other.
func between(before, after *int64) (int64, bool) {
	switch {
	case before == nil && after == nil:
		return Place, true
	case before == nil:
		return *after - Place, *after-Place > -maxOrder
	case after == nil:
		return *before + Place, *before+Place < maxOrder
	case *after-*before < 2:
		return 0, false
	}
	return *before + (*after-*before)/2, true
}

// spreadMost is how many tasks are moved at most to make room for one.
const spreadMost = 128

// spread makes room for one more task between an order and those that follow:
// it returns the order of the new one and new orders for as few of the following
// as will do. ok is false if what was given does not suffice.
func spread(before int64, following []int64) (first int64, moved []int64, ok bool) {
	const least = 1 << 10 // ten more halvings before the next spreading
	for k := range len(following) + 1 {
		room := int64(maxOrder)
		if k < len(following) {
			room = following[k]
		} else if len(following) == spreadMost {
			break // more may follow than was given
		}
		step := min((room-before)/int64(k+2), Place)
		if step < least {
			continue
		}
		for i := range k {
			moved = append(moved, before+step*int64(i+2))
		}
		return before + step, moved, true
	}
	return 0, nil, false
}
