// Chapter: what a layer costs, and where the lines cross (SPEC 9).

const study = (part) => ({ kind: "study", study: "complexity", part });

export const chapter = {
  name: "cost",
  title: { en: "What a layer costs", zh: "一层要花多少" },
  steps: [
    {
      say: {
        en:
          "Every token looks at every other one: for a text of n tokens that are n² comparisons, each of d " +
          "multiplications. A recurrent layer goes through the text once, and at each token multiplies its state by " +
          "matrices of d rows and d columns: n times d². Which is less depends on what is larger, n or d.",
        zh: "每个词元都要看其他所有词元：n 个词元就是 n² 次比较，每次 d 个乘法。循环层把文本从头到尾走一遍，每到一个词元就用 d 行 d 列的矩阵去乘状态：n 乘 d²。哪个更省，要看 n 和 d 谁大。",
      },
      formula: "cost",
      figure: { kind: "race" },
    },
    {
      say: {
        en:
          "Measure it: press the button, and your browser computes both layers for longer and longer sequences. On " +
          "such axes a power is a straight line, and its exponent is the slope. Attention rises twice as steeply.",
        zh: "测一测：按下按钮，您的浏览器就会把两种层都算一遍，序列越来越长。在这样的坐标里，幂是直线，指数就是斜率。注意力的线陡一倍。",
      },
    },
    {
      exercise: {
        kind: "cheaperLayer",
        ask: {
          en: ({ n, d }) => `A layer of width ${d} reads a text of ${n} tokens. Which of the two multiplies less?`,
          zh: ({ n, d }) => `一层的宽度是 ${d}，读 ${n} 个词元的文本。哪一种做的乘法少？`,
        },
        figure: { ...study("time"), n: 4096, d: 512 },
      },
    },
    {
      say: {
        en:
          "“Sentences are shorter than layers are wide, so attention is cheaper” was true of the sentences of 2017. " +
          "It is false of long texts. Here are PyTorch's layers on a processor, forward and backward. A recurrent " +
          "layer also has to take its steps one after the other, and loses far more time by that than it saves.",
        zh: "“句子比层窄，所以注意力更省”，对 2017 年的句子来说没错，对长文本就不对了。图里是 PyTorch 的各种层在处理器上的用时，前向加反向。循环层还得一步接一步地走，因此而多花的时间，远比省下的多。",
      },
      figure: study("time"),
    },
    {
      say: {
        en:
          "Beside the paper's table: the exponents that were measured. Where they differ, operations are not equally " +
          "quick at all sizes: small matrices leave a processor waiting. Run the study on your own machine, with a " +
          "graphics card if you have one, and open its report.json here.",
        zh: "和论文的表放在一起看：这是测得的指数。有出入的地方，是因为不同大小的运算快慢不一：矩阵太小，处理器就要等。请在您自己的机器上做这项测量（有显卡就用显卡），再在这里打开它的 report.json。",
      },
      figure: study("exponents"),
    },
    {
      say: {
        en:
          "And memory? The n² weights need not all be there at once: a fused kernel makes them row by row and throws " +
          "them away. Written out as in the formula, they are the steepest line.",
        zh: "那么内存呢？n² 个权重不必同时存在：融合的算法一行一行地算，用完就扔。照公式写出来，就是最陡的那条线。",
      },
      figure: study("memory"),
    },
  ],
};
