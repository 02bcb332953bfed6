// Chapter: guessing ahead, and writing all positions at once (SPEC 8.3).

const NAMES = {
  text: "Mr Schwarzenegger-Wladimirowitsch met Arnold Schwarzenegger-Wladimirowitsch in Wladiwostok.", target: "de",
};

export const chapter = {
  name: "parallel",
  title: { en: "Past one token at a time", zh: "一次不止一个词元" },
  steps: [
    {
      say: {
        en:
          "So far every token has cost a pass of the decoder of its own, because it is read before the next one is " +
          "chosen. That is waiting, not work: a processor could compute dozens of positions in nearly the time of " +
          "one. In training it does, since there the whole sentence is known beforehand.",
        zh: "到目前为止，每个词元都要解码器单独算一遍，因为读了它才能选下一个。这其实是在等，不是在算：处理器算几十个位置，和算一个几乎一样快。训练时就是这样，因为整句事先已知。",
      },
      figure: { kind: "guesses", text: "Where is the next station, please?", target: "de", pass: 0 },
    },
    {
      say: {
        en:
          "If somebody guessed the next tokens, one pass would be enough to check them all: after each of them the " +
          "model says what it would have written. Guesses are kept as far as they agree; at the first that does " +
          "not, the model's own choice is written. This is called speculative decoding. A box is a pass; what was " +
          "guessed and kept is shaded.",
        zh: "要是有谁先猜出后面几个词元，一遍就能全部检查：在每个猜测之后，模型都会说自己会写什么。猜得一致就保留，到第一个不一致的地方，写下模型自己的选择。这叫推测解码。每个方框是一遍；猜中并保留的带底色。",
      },
      figure: { kind: "guesses", ...NAMES, pass: 4 },
    },
    {
      exercise: {
        kind: "keptGuesses",
        ask: {
          en: (about) => `In one pass “${about}” was proposed. How many of these tokens are kept?`,
          zh: (about) => `有一遍提出的猜测是“${about}”。其中有几个词元被保留？`,
        },
        figure: { kind: "guesses", ...NAMES, pass: "mixed" },
      },
    },
    {
      say: {
        en:
          "Nothing is lost by it: the sentence is the one greedy search writes, token by token, only in fewer " +
          "passes. Nor must the guesses come from a network. Here they are looked up: where the last two tokens " +
          "stood before, in the source or in what is written, what followed them is proposed. Names and numbers are " +
          "found in this way; of the sentence in the first figure nothing could be guessed.",
        zh:
          "这样做什么也不损失：写出的句子就是贪心搜索一个个词元写出的那句，只是遍数更少。猜测也不必来自网络。这里是查出来的：看最后两个词元以前在原文或已写部分里出现时后面接着什么。" +
          "人名和数字就是这样猜中的；第一幅图的句子则无从猜起。",
      },
    },
    {
      say: {
        en:
          "A small network beside the model guesses ordinary words, too; “heedful draft” trains one. Whether it pays " +
          "is a matter of prices. In the bundled model, measured on two threads of a server, a step takes 0.19 ms, " +
          "checking four tokens 0.32 ms, and guessing one 0.03 ms: its decoder of two layers is so quick that little " +
          "is left to save. With six layers there is more.",
        zh:
          "在模型旁边放一个小网络，连普通的词也能猜；“heedful draft”可以训练一个。划不划算要看价钱。随附的模型在服务器的两个线程上测得：写一步 0.19 毫秒，" +
          "检查四个词元 0.32 毫秒，猜一个 0.03 毫秒。它的解码器只有两层，快得几乎没什么可省；六层的就不同了。",
      },
    },
    {
      say: {
        en:
          "The bolder way is to write all positions at once. One does not know how many tokens there will be, so " +
          "each source token gets more positions than it needs, and a rule makes a sentence of what they say: a " +
          "token that several neighbours say is written once, and a position may also say nothing, a blank. A blank " +
          "between two equal tokens keeps both. Try it: change the letters; · is a blank.",
        zh:
          "更大胆的办法是一次写出所有位置。词元有多少事先不知道，所以给每个源词元的位置比需要的多，再用一条规则把它们说的变成句子：相邻位置说同一个词元，只写一次；一个位置也可以什么都不说，叫空白。" +
          "两个相同的词元之间有空白，就都保留。试试看：改动这些字母；· 是空白。",
      },
      figure: { kind: "collapse", text: "ss·ee·e··n" },
    },
    {
      say: {
        en:
          "This small translator has learned it (CTC; it knows numbers, a few things and three word orders). Go " +
          "through the moments: copies of the source, what they would say after each layer, repeats merged, blanks " +
          "dropped. After the first layer a verb stands in the second place, where German wants it, but not the " +
          "right one, and one “sehr” is missing; the next layer mends both. Between “sehr” and “sehr” stands a " +
          "blank, or they would be merged.",
        zh:
          "这个小翻译器就学会了这样写（CTC；它只懂数字、几样东西和三种语序）。逐个时刻看：先是源词元的副本，再是每一层之后它们会写什么，然后合并重复、去掉空白。" +
          "第一层之后，动词已经在德语要求的第二位，但还不是对的那个，“sehr”也少了一个；下一层把两处都改好。" +
          "两个“sehr”之间隔着一个空白，不然就会被合并。",
      },
      figure: { kind: "atOnce", text: "today seven very very old dogs see two birds.", model: "lesson-ctc" },
    },
    {
      say: {
        en:
          "That is also the price. Where two good translations exist, neighbours may each choose from another one: " +
          "of “Vielen Dank” and “Danke schön” comes “Vielen schön”. So such models learn from a teacher that always " +
          "chooses alike, are shown part of the answer while they learn (glancing), or first decide how many tokens " +
          "each source token becomes, its fertility; several such decisions can be tried, and a model that writes " +
          "step by step picks the best, reading each in one pass. The view “Decoding” shows all of it for a model of " +
          "yours.",
        zh:
          "这也正是代价所在。要是有两个好译文，相邻的位置可能各选一个：“Vielen Dank”和“Danke schön”会变成“Vielen schön”。所以这类模型跟着一个选择总是一致的老师学，" +
          "学习时先看到一部分答案（glancing），或者先决定每个源词元变成几个词元，叫繁殖度；可以多试几种，再由一个逐步写的模型每种读一遍，挑出最好的。您自己的模型是怎样做的，" +
          "在“解码”视图里都能看到。",
      },
    },
  ],
};
