package index

import (
	"bytes"
	"fmt"
	"math/bits"
)

// Measures of the drawing, in pixels.
const (
	panelHeight = 220
	panelWidth  = 640
	marginLeft  = 56
	marginTop   = 44
	barsHeight  = 120
)

// histograms draws a panel for each picture: the share of rows in buckets of 1, 2, 3 to 4, 5 to 8 … rows. Rows far to the right share their
// bucket with many, which hides them, unless one bucket alone stands there: the most frequent value.
func histograms(pictures []picture) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", panelWidth, panelHeight*max(1, len(pictures)))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for i, p := range pictures {
		drawPanel(&b, panelHeight*i, p)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// class is a bar: buckets of from to most rows.
type class struct {
	from, most    int64
	rows, buckets int64
}

func classes(p picture) []class {
	var list []class
	for _, count := range p.key.Buckets {
		n := bits.Len64(uint64(count.Rows - 1)) // 1, 2, 3–4, 5–8, …
		for len(list) <= n {
			c := class{from: 1, most: 1}
			if k := len(list); k > 0 {
				c.from, c.most = 1<<(k-1)+1, 1<<k
			}
			list = append(list, c)
		}
		list[n].rows += count.Rows * count.Buckets
		list[n].buckets += count.Buckets
	}
	return list
}

func drawPanel(b *bytes.Buffer, top int, p picture) {
	if p.leaks.Rows == 0 {
		fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13">%s: no rows</text>`+"\n", marginLeft, top+20, p.index.Name)
		return
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="13">%s under key %s: %d rows in %d buckets, the largest %s, min-entropy %s bits</text>`+"\n",
		marginLeft, top+20, p.index.Name, p.key.KeyID, p.leaks.Rows, p.leaks.Buckets, percent(p.leaks.LargestShare()), number(p.leaks.MinEntropy()))
	list := classes(p)
	step := (panelWidth - 2*marginLeft) / max(8, len(list))
	base := top + marginTop + barsHeight
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="black"/>`+"\n", marginLeft, base, panelWidth-marginLeft, base)
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">rows</text>`+"\n", marginLeft-6, top+marginTop)
	for i, c := range list {
		x := marginLeft + i*step
		height := int(float64(barsHeight) * float64(c.rows) / float64(p.leaks.Rows))
		label := fmt.Sprintf("%d–%d", c.from, c.most)
		if c.from == c.most {
			label = fmt.Sprint(c.from)
		}
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="#4477aa"><title>%d rows in %d buckets of %s rows</title></rect>`+"\n", x+2, base-height, step-4, height, c.rows, c.buckets, label)
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x+step/2, base+14, label)
		if c.rows > 0 {
			fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x+step/2, base-height-3, percent(float64(c.rows)/float64(p.leaks.Rows)))
		}
	}
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">rows in a bucket</text>`+"\n", panelWidth/2, base+32)
}
