"""Bits per byte as a function of the memory at evaluation, as a table and as a picture.

    python benchmarks/memory_length.py RUN [--lengths 0 64 128 …] [--bytes N] [--segment N] [--svg FILE] [--json FILE]

The model is scored on the beginning of its run's test text (or --text) with each length of memory in turn; the segment
is short, so that the memory is what a symbol is predicted from. The picture marks the length used in training.
"""

import argparse
import json
from pathlib import Path

from heedful.tasks.language_modeling.evaluate import find_texts
from heedful.tasks.language_modeling.model import load_text_model

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 360, 64, 48, 40, 20


def picture(points: list[tuple[int, float]], trained_with: int, title: str) -> str:
    """Draw the curve as SVG: memory on a scale of equal steps, bits per byte upwards."""
    low, high = min(bits for _, bits in points), max(bits for _, bits in points)
    margin = max((high - low) * 0.1, 1e-3)
    low, high = low - margin, high + margin
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(number: float) -> float:
        return LEFT + inner_width * number / max(1, len(points) - 1)

    def y(bits: float) -> float:
        return TOP + inner_height * (high - bits) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        f'<text x="{LEFT}" y="22" font-size="14" fill="#222222">{title}</text>',
    ]
    for step in range(5):
        bits = low + (high - low) * step / 4
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(bits):.1f}" y2="{y(bits):.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(bits) + 4:.1f}" text-anchor="end" fill="#555555">{bits:.3f}</text>')
    for number, (length, _) in enumerate(points):
        place = f'x="{x(number):.1f}" y="{HEIGHT - BOTTOM + 18}"'
        parts.append(f'<text {place} text-anchor="middle" fill="#555555">{length:,}</text>')
        if length == trained_with:
            parts.append(
                f'<line x1="{x(number):.1f}" x2="{x(number):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
                'stroke="#999999" stroke-dasharray="4 4"/>'
            )
            parts.append(f'<text x="{x(number) + 6:.1f}" y="{TOP + 12}" fill="#777777">as in training</text>')
    line = " ".join(f"{x(number):.1f},{y(bits):.1f}" for number, (_, bits) in enumerate(points))
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0b62a4" stroke-width="2"/>')
    for number, (length, bits) in enumerate(points):
        parts.append(f'<circle cx="{x(number):.1f}" cy="{y(bits):.1f}" r="3.5" fill="#0b62a4">')
        parts.append(f"<title>{length:,}: {bits:.4f}</title></circle>")
    parts.append(
        f'<text x="{LEFT + inner_width / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#222222">'
        "memory at evaluation, in bytes</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--lengths", type=int, nargs="+", default=[0, 64, 128, 256, 512, 1024, 1536, 2048])
    parser.add_argument("--bytes", type=int, default=1_000_000, help="of the test text")
    parser.add_argument("--segment", type=int, default=32)
    parser.add_argument("--clamp", type=int)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--device")
    parser.add_argument("--title", default="Bits per byte over the length of the memory")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    model = load_text_model(options.run, device=options.device, clamp_len=options.clamp)
    text = next(iter(find_texts(options.run, config=None, file=options.text, split=None).values()))[: options.bytes]
    points: list[tuple[int, float]] = []
    print(f"{'memory':>8} {'bits/byte':>10} {'perplexity':>11} {'bytes/s':>10}   ({len(text):,} bytes)")
    for length in options.lengths:
        found = model.score(text, memory_len=length, segment_len=options.segment)
        points.append((length, found.bits_per_byte))
        speed = found.num_bytes / found.seconds
        print(f"{length:>8,} {found.bits_per_byte:>10.4f} {found.perplexity:>11.3f} {speed:>10,.0f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(dict(points), indent=2) + "\n", encoding="utf-8")
    if options.svg:
        options.svg.write_text(picture(points, model.memory_len, options.title), encoding="utf-8")


if __name__ == "__main__":
    main()
