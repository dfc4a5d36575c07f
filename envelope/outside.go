package envelope

import (
	"bytes"
	"fmt"
	"index/suffixarray"
	"maps"
	"slices"
)

const (
	// outsideLen is from which length on a flagged string or number must not stand outside the payload (docs/format.md 5.1). Shorter ones meet by chance.
	outsideLen = 8
	// outsideScan is up to which size of all clear places a plain search for each leaf is the fastest. Above it a suffix array keeps a hostile
	// event, with 100,000 flagged leaves and a megabyte of headers, from costing their product.
	outsideScan = 8 << 10
	// outsideGap ends each clear place in the joined text. It is in no UTF-8 text, so no leaf runs across.
	outsideGap = 0xff
)

// outside holds what leaves in clear beside a payload, to be searched for flagged values.
type outside struct {
	joined []byte
	places []clearPlace
	array  *suffixarray.Index
}

type clearPlace struct {
	end  int // in joined
	kind clearKind
	n    int // the header's number
}

type clearKind uint8

const (
	clearAggregate clearKind = iota
	clearHeaderName
	clearHeaderValue
)

func (p clearPlace) String() string {
	switch p.kind {
	case clearHeaderName:
		return fmt.Sprintf("name of header %d", p.n)
	case clearHeaderValue:
		return fmt.Sprintf("value of header %d", p.n)
	}
	return "aggregate id"
}

// reset fills in an event's clear places; headers are counted in the order of their names.
func (o *outside) reset(aggregateID string, headers map[string]string) {
	o.joined, o.places, o.array = o.joined[:0], o.places[:0], nil
	o.add(aggregateID, clearAggregate, 0)
	if len(headers) > 0 {
		for i, name := range slices.Sorted(maps.Keys(headers)) {
			o.add(name, clearHeaderName, i+1)
			o.add(headers[name], clearHeaderValue, i+1)
		}
	}
	if len(o.joined) > outsideScan {
		o.array = suffixarray.New(o.joined)
	}
}

// clear forgets the places and keeps the memory, unless it is large.
func (o *outside) clear() {
	clear(o.joined)
	if o.joined, o.places, o.array = o.joined[:0], o.places[:0], nil; cap(o.joined) > keepBytes {
		o.joined, o.places = nil, nil
	}
}

func (o *outside) add(text string, kind clearKind, n int) {
	if len(text) < outsideLen {
		return
	}
	o.joined = append(append(o.joined, text...), outsideGap)
	o.places = append(o.places, clearPlace{len(o.joined), kind, n})
}

// holds says where a flagged leaf also stands; "" is nowhere.
func (o *outside) holds(text []byte) string {
	if len(text) < outsideLen || len(text) >= len(o.joined) {
		return ""
	}
	at := -1
	if o.array == nil {
		at = bytes.Index(o.joined, text)
	} else if found := o.array.Lookup(text, 1); len(found) > 0 {
		at = found[0]
	}
	if at < 0 {
		return ""
	}
	i, _ := slices.BinarySearchFunc(o.places, at, func(p clearPlace, at int) int { return p.end - at - 1 })
	return o.places[i].String()
}
