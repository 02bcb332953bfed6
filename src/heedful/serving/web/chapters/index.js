// The chapters in their order, and the figure each kind of picture is drawn by.

import { html } from "/insight/vendor/preact.js";
import { chapter as attention } from "./attention.js";
import { chapter as circle } from "./circle.js";
import { chapter as cost } from "./cost.js";
import { chapter as fading } from "./fading.js";
import { chapter as heads } from "./heads.js";
import { chapter as lengths } from "./lengths.js";
import { chapter as lookup } from "./lookup.js";
import { chapter as lookingBack } from "./looking_back.js";
import { chapter as masks } from "./masks.js";
import { chapter as memory } from "./memory.js";
import { chapter as parallel } from "./parallel.js";
import { chapter as parts } from "./parts.js";
import { chapter as positions } from "./positions.js";
import { chapter as product } from "./product.js";
import { chapter as recommender } from "./recommender.js";
import { chapter as relatives } from "./relatives.js";
import { chapter as search } from "./search.js";
import { chapter as seeing } from "./seeing.js";
import { chapter as sequence } from "./sequence.js";
import { chapter as stack } from "./stack.js";
import { chapter as training } from "./training.js";
import { chapter as vector } from "./vector.js";
import { HeatFigure, LinesFigure } from "./figures/attention.js";
import { CellFigure } from "./figures/cell.js";
import { CircleFigure } from "./figures/circle.js";
import { DigitsFigure } from "./figures/digits.js";
import { HeadsFigure } from "./figures/heads.js";
import { LessonsFigure } from "./figures/lessons.js";
import { AtOnceFigure, CollapseFigure, GuessesFigure } from "./figures/parallel.js";
import { OrderFigure, PositionsFigure } from "./figures/positions.js";
import { LookupFigure, TasteFigure } from "./figures/products.js";
import { RaceFigure } from "./figures/race.js";
import { MemoryFigure, PoolingFigure } from "./figures/relatives.js";
import { PenaltyFigure, SearchFigure } from "./figures/search.js";
import { SequenceFigure, TemperatureFigure } from "./figures/sequence.js";
import { StackFigure } from "./figures/stack.js";
import { StudyFigure } from "./figures/study.js";
import { LossFigure, ScheduleFigure, SmoothingFigure } from "./figures/training.js";
import { WorthFigure } from "./figures/worth.js";

export const CHAPTERS = [
  sequence, vector, lookingBack, attention, recommender, lookup, product, heads, masks, positions, circle, stack,
  training, search, relatives, memory, cost, fading, lengths, parts, parallel, seeing,
];

const FIGURES = {
  atOnce: AtOnceFigure, cell: CellFigure, circle: CircleFigure, collapse: CollapseFigure, digits: DigitsFigure,
  guesses: GuessesFigure, heads: HeadsFigure, heat: HeatFigure,
  lessons: LessonsFigure, lines: LinesFigure,
  lookup: LookupFigure, loss: LossFigure, memory: MemoryFigure, order: OrderFigure, penalty: PenaltyFigure,
  pooling: PoolingFigure, positions: PositionsFigure, race: RaceFigure,
  schedule: ScheduleFigure, search: SearchFigure, sequence: SequenceFigure, smoothing: SmoothingFigure,
  stack: StackFigure, study: StudyFigure, taste: TasteFigure, temperature: TemperatureFigure, worth: WorthFigure,
};

export const Shown = ({ figure }) => html`<${FIGURES[figure.kind]} key=${JSON.stringify(figure)} figure=${figure} />`;
