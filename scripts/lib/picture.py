#!/usr/bin/python3
"""Draws what "tmux capture-pane -e -N -p" prints as a PNG.

usage: picture.py dark|light COLUMNSxROWS OUT.png < text

Each cell is drawn at its own place, so nothing drifts. Blocks and braille are drawn as
rectangles and dots, all else with the font. Without the size (0x0) the text decides.
"""
import re
import sys
import unicodedata

from PIL import Image, ImageDraw, ImageFont

FONTS = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono"
SIZE, W, H, MARGIN = 20, 12, 24, 14
GROUNDS = {"dark": ((13, 17, 23), (201, 209, 217)), "light": ((255, 255, 255), (31, 35, 40))}
BASIC = ["000000", "cd3131", "0dbc79", "c5a000", "2472c8", "bc3fbc", "11a8cd", "cccccc",
         "666666", "f14c4c", "23d18b", "e5e510", "3b8eea", "d670d6", "29b8db", "ffffff"]
# The parts of a cell that a block fills, in eighths: left, top, right, bottom.
QUARTERS = {0x2596: "c", 0x2597: "d", 0x2598: "a", 0x2599: "acd", 0x259A: "ad", 0x259B: "abc",
            0x259C: "abd", 0x259D: "b", 0x259E: "bc", 0x259F: "bcd"}
PLACES = {"a": (0, 0, 4, 4), "b": (4, 0, 8, 4), "c": (0, 4, 4, 8), "d": (4, 4, 8, 8)}


def indexed(n):
    """The colour n of the 256."""
    if n < 16:
        return tuple(bytes.fromhex(BASIC[n]))
    if n >= 232:
        return (8 + 10 * (n - 232),) * 3
    n -= 16
    return tuple(0 if v == 0 else 55 + 40 * v for v in (n // 36, n // 6 % 6, n % 6))


def restyle(style, codes):
    """Changes a style, [foreground, background, bold, reversed], as SGR codes say."""
    codes = [int(c or 0) for c in codes.replace(":", ";").split(";")]
    while codes:
        c = codes.pop(0)
        if c == 0:
            style[:] = [None, None, False, False]
        elif c in (1, 22):
            style[2] = c == 1
        elif c in (7, 27):
            style[3] = c == 7
        elif c in (38, 48):
            if codes.pop(0) == 5:
                style[c // 48] = indexed(codes.pop(0))
            else:
                style[c // 48], codes = tuple(codes[:3]), codes[3:]
        elif c in (39, 49):
            style[c // 49] = None
        elif 30 <= c <= 47 or 90 <= c <= 107:
            style[c // 10 % 2 == 0] = indexed(c % 10 + 8 * (c >= 90))


def cells(text, columns):
    """Yields the row, column, character and style of each cell."""
    style = [None, None, False, False]
    for y, line in enumerate(text.rstrip("\n").split("\n")):
        x = 0
        for codes, ch in re.findall("\x1b\\[([0-9;:]*)m|([^\x1b\x0e\x0f])", line):
            if ch == "":
                restyle(style, codes)
            else:
                yield y, x, ch, tuple(style)
                x += 2 if unicodedata.east_asian_width(ch) in "WF" else 1
        for rest in range(x, columns if style[1] else 0):  # a row cleared with its ground
            yield y, rest, " ", tuple(style)


def blocks(code):
    """The rectangles of a block character, in eighths of a cell."""
    if code == 0x2580:
        return [(0, 0, 8, 4)]
    if 0x2581 <= code <= 0x2588:
        return [(0, 0x2588 - code, 8, 8)]
    if 0x2589 <= code <= 0x258F:
        return [(0, 0, 0x2590 - code, 8)]
    if code == 0x2590:
        return [(4, 0, 8, 8)]
    return [PLACES[q] for q in QUARTERS.get(code, "")]


def draw_cell(draw, at, ch, fg, font):
    x, y = at
    code = ord(ch)
    for left, top, right, bottom in blocks(code):
        draw.rectangle((x + left * W // 8, y + top * H // 8, x + right * W // 8 - 1, y + bottom * H // 8 - 1), fg)
    if 0x2800 <= code <= 0x28FF:
        for dot in (d for d in range(8) if code >> d & 1):
            column, row = (dot // 3, dot % 3) if dot < 6 else (dot - 6, 3)
            left, top = x + 1 + column * W // 2, y + 1 + row * H // 4
            draw.ellipse((left, top, left + 3, top + 3), fg)
    elif not blocks(code):
        draw.text((x, y + 19), ch, fg, font, anchor="ls")


def palette(pairs):
    """The colours of text and grounds, and as many steps between them as there is room for."""
    colors = list({color for pair in pairs for color in pair})
    for share in (4, 2, 6, 3, 5, 1, 7):
        for fg, bg in sorted(pairs):
            mixed = tuple(b + (f - b) * share // 8 for f, b in zip(fg, bg))
            # Pillow takes colours that are nearer than this for one.
            if all(max(abs(a - b) for a, b in zip(mixed, other)) > 8 for other in colors):
                colors.append(mixed)
    image = Image.new("P", (1, 1))
    image.putpalette([v for c in colors[:256] for v in c])
    return image


def main():
    theme, size, out = sys.argv[1:]
    ground, ink = GROUNDS[theme]
    columns, rows = map(int, size.split("x"))
    found = list(cells(sys.stdin.read(), columns))
    columns = columns or max(x for _, x, _, _ in found) + 1
    rows = rows or found[-1][0] + 1
    image = Image.new("RGB", (columns * W + 2 * MARGIN, rows * H + 2 * MARGIN), ground)
    draw = ImageDraw.Draw(image)
    fonts = [ImageFont.truetype(FONTS + bold + ".ttf", SIZE) for bold in ("", "-Bold")]
    for y, x, ch, (fg, bg, bold, turned) in found:
        fg, bg = (bg or ground, fg or ink) if turned else (fg or ink, bg)
        at = MARGIN + x * W, MARGIN + y * H
        if bg:
            draw.rectangle((at[0], at[1], at[0] + W - 1, at[1] + H - 1), bg)
        if ch != " ":
            draw_cell(draw, at, ch, fg, fonts[bold])
    pairs = {((bg or ground, fg or ink) if turned else (fg or ink, bg or ground)) for _, _, _, (fg, bg, _, turned) in found}
    image.quantize(palette=palette(pairs), dither=0).save(out, optimize=True)


main()
