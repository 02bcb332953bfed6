// What the view "positions" says, in English and Chinese.

import { language } from "../state.js";

const POSITIONS_WORDS = {
  en: {
    title: "Where a token stands",
    lead:
      "Attention by itself does not see the order of tokens. So the model adds to each token's embedding a vector " +
      "that says at which position it stands. These are the vectors of this very model.",
    kinds: {
      sinusoidal: "They are not learned: sines and cosines of growing wavelengths (section 3.5 of the paper).",
      learned: "They were learned in training, one vector for each position.",
    },
    sequential:
      "This model has no table of positions: it reads one token after the other, and so knows where each one stands.",
    none:
      "This model adds no positions at all. For its attention a sentence is a bag of tokens: put in another order, " +
      "it would read the same.",
    side: "side",
    sides: [["source", "source"], ["target", "target"]],
    length: "positions",
    loading: "Reading the table …",
    failed: (sentence) => `The table cannot be shown: ${sentence}`,
    position: "position",
    dimension: "dimension",
    other: "other position",
    table: "The table",
    tableHint:
      "Rows are positions, columns dimensions. Blue is above zero, orange below. Click a column to see its wave.",
    tableSays: {
      sinusoidal:
        "Read a row from left to right: that is the vector added at this position. Quick waves tell neighbours " +
        "apart, slow ones the beginning of a sentence from its end. No two rows are alike.",
      learned:
        "Read a row from left to right: that is the vector added at this position. Nobody told training to make " +
        "waves; what is regular here, it found useful. Rows seldom seen in training stay close to noise.",
    },
    cell: (position, dimension, value) => `Position ${position}, dimension ${dimension}: ${value}`,
    wave: "One dimension as a wave",
    waveHint: "How one number of the vector changes from position to position.",
    sine: (dimension, length) => `Dimension ${dimension} is a sine. It repeats every ${length} positions.`,
    cosine: (dimension, length) => `Dimension ${dimension} is a cosine. It repeats every ${length} positions.`,
    partner: (dimension) => `Dimension ${dimension} (dashed) is the other one of the pair: same wave, a quarter later.`,
    curve: (dimension) => `Dimension ${dimension}, as training left it.`,
    choose: (dimension) => `Show dimension ${dimension}`,
    similarity: "Which positions are alike",
    similarityHint: "The cosine of the angle between two vectors: 1 is the same direction, 0 nothing in common.",
    similaritySays: {
      sinusoidal:
        "Along each diagonal the value is the same: how alike two positions are depends on their distance only. That " +
        "lets a head learn “three tokens back” once for the whole sentence.",
      learned: "A bright diagonal means that neighbours are alike; blocks mean that the model keeps regions apart.",
    },
    pair: (one, other, value) => `Positions ${one} and ${other}: ${value}`,
    row: (position) => `All positions beside position ${position}`,
    keys: "Arrow keys move the mark.",
    order: "order",
    orders: [["stored", "as stored"], ["sorted", "sines first"]],
  },
  zh: {
    title: "词元站在哪里",
    lead:
      "注意力本身看不出词元的顺序。因此模型在每个词元的嵌入上加一个向量，说明它站在第几位。下面就是这个模型自己的位置向量。",
    kinds: {
      sinusoidal: "这些向量不是学来的，而是波长逐渐变长的正弦和余弦（论文 3.5 节）。",
      learned: "这些向量是训练得来的，每个位置一个。",
    },
    sequential: "这个模型没有位置表：它逐个词元地读，因此知道每个词元的位置。",
    none: "这个模型不加任何位置信息。对它的注意力来说，句子只是一袋词元，换个顺序读起来也一样。",
    side: "哪一边",
    sides: [["source", "源语言"], ["target", "目标语言"]],
    length: "位置数",
    loading: "正在读取位置表……",
    failed: (sentence) => `无法显示位置表：${sentence}`,
    position: "位置",
    dimension: "维度",
    other: "另一位置",
    table: "位置表",
    tableHint: "行是位置，列是维度。蓝色大于零，橙色小于零。点一列，可以看到它的波形。",
    tableSays: {
      sinusoidal: "从左到右读一行，就是加在这个位置上的向量。快的波区分相邻的位置，慢的波区分句首和句尾。没有两行是相同的。",
      learned: "从左到右读一行，就是加在这个位置上的向量。没有人要求训练学出波形；这里的规律，是它自己觉得有用的。训练中少见的位置近似噪声。",
    },
    cell: (position, dimension, value) => `位置 ${position}，维度 ${dimension}：${value}`,
    wave: "把一个维度看作波",
    waveHint: "向量中的一个数怎样随位置变化。",
    sine: (dimension, length) => `维度 ${dimension} 是正弦，每 ${length} 个位置重复一次。`,
    cosine: (dimension, length) => `维度 ${dimension} 是余弦，每 ${length} 个位置重复一次。`,
    partner: (dimension) => `维度 ${dimension}（虚线）与它成对：同样的波，错开四分之一个周期。`,
    curve: (dimension) => `维度 ${dimension}，训练后的样子。`,
    choose: (dimension) => `显示维度 ${dimension}`,
    similarity: "哪些位置相似",
    similarityHint: "两个位置的向量夹角的余弦：1 表示方向相同，0 表示毫无共同之处。",
    similaritySays: {
      sinusoidal: "同一条对角线上的值都相同：两个位置有多相似，只取决于它们的距离。因此一个头只要学一次“往前三个词元”，整句都能用。",
      learned: "对角线明亮，说明相邻位置相似；成块，说明模型把不同区域分开。",
    },
    pair: (one, other, value) => `位置 ${one} 与位置 ${other}：${value}`,
    row: (position) => `各位置与位置 ${position} 相比`,
    keys: "用方向键移动标记。",
    order: "排列",
    orders: [["stored", "原样"], ["sorted", "先正弦后余弦"]],
  },
};

export const words = () => POSITIONS_WORDS[language()];
