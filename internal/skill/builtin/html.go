package builtin

import (
	"context"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/witan-run/witan/internal/kit/fault"
)

// maxNesting is how deep elements may stand in each other: the tree is walked
// by recursion.
const maxNesting = 400

// readable turns a page into its title and Markdown of what a person would see
// of it.
func readable(ctx context.Context, text string, at *url.URL, note *hiddenNote) (title, markdown string, err error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", "", fault.New(fault.Invalid, "the page cannot be read: %w", err).On("url")
	}
	styles := styleSheets(doc)
	if !prune(doc, styles, note, &title, 0) {
		return "", "", fault.New(fault.Invalid, "the page nests more than %d elements", maxNesting).On("url")
	}
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := conv.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(at.Scheme+"://"+at.Host))
	if err != nil {
		return "", "", fault.New(fault.Invalid, "the page cannot be read: %w", err).On("url")
	}
	return title, string(out), nil
}

// prune removes what is not text for a person: code, forms' hidden fields,
// comments, embedded things, and whatever is styled so that nobody sees it. It
// reports false if the tree is too deep.
func prune(n *html.Node, s styles, note *hiddenNote, title *string, depth int) bool {
	if depth > maxNesting {
		return false
	}
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.CommentNode:
			n.RemoveChild(c)
		case c.Type != html.ElementNode:
		case c.DataAtom == atom.Title && *title == "":
			*title = strings.Join(strings.Fields(textOf(c, 0)), " ")
			n.RemoveChild(c)
		case isCode(c):
			n.RemoveChild(c)
		case isHidden(c, s):
			note.element(textOf(c, 0))
			n.RemoveChild(c)
		default:
			tidy(c)
			if !prune(c, s, note, title, depth+1) {
				return false
			}
		}
		c = next
	}
	return true
}

// isCode reports whether an element is no text at all.
func isCode(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Embed, atom.Applet, atom.Svg, atom.Math,
		atom.Canvas, atom.Audio, atom.Video, atom.Link, atom.Meta, atom.Base, atom.Title, atom.Noframes, atom.Noembed:
		return true
	default:
	}
	return false
}

// tidy drops what would smuggle data into the Markdown: embedded images and
// links that are not to be followed.
func tidy(n *html.Node) {
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src":
			u, err := url.Parse(strings.TrimSpace(a.Val))
			if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" || len(a.Val) > maxURL {
				continue
			}
		case "srcset", "style":
			continue
		}
		kept = append(kept, a)
	}
	n.Attr = kept
	_, href := attr(n, "href")
	_, src := attr(n, "src")
	switch {
	case n.DataAtom == atom.A && !href:
		n.DataAtom, n.Data = atom.Span, "span" // a link to nowhere would be made one to here
	case n.DataAtom == atom.Img && !src: // what stands for the picture is text
		alt, _ := attr(n, "alt")
		n.DataAtom, n.Data, n.Attr = atom.Span, "span", nil
		n.AppendChild(&html.Node{Type: html.TextNode, Data: alt})
	}
}

// textOf returns the text below a node.
func textOf(n *html.Node, depth int) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	var b strings.Builder
	for c := n.FirstChild; c != nil && depth < maxNesting; c = c.NextSibling {
		b.WriteString(textOf(c, depth+1))
	}
	return b.String()
}

func attr(n *html.Node, key string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}
