// Chapter: attention on a recurrent network (SPEC 2.2).

const BOTH = ["vector", "attention"];

export const chapter = {
  name: "looking_back",
  title: { en: "A recurrent network looks back", zh: "循环网络学会回头看" },
  steps: [
    {
      say: {
        en:
          "The way out is to keep what was there anyway: the state after every token, not only the last one. " +
          "While it writes, the second network compares its own state with each of them, and takes from each as " +
          "much as the comparison says.",
        zh: "出路是把本来就有的东西留下来：每读一个词元之后的状态，而不只是最后一个。写的时候，第二个网络拿自己的状态与它们逐一比较，按比较的结果从每个状态取多少。",
      },
      formula: "lookingBack",
      figure: { kind: "digits", networks: BOTH, digits: "314159265358" },
    },
    {
      say: {
        en:
          "Both networks in the figure read and write in the same way, with as many numbers in their state, and " +
          "learned from the same digits for as long. The second may look back; that is the difference.",
        zh: "图中两个网络读写的方式相同，状态一样大，学的是同样的数字，学的时间也一样长。第二个可以回头看，差别只在这里。",
      },
      figure: { kind: "digits", networks: BOTH, isMeasured: true },
    },
    {
      say: {
        en:
          "Where does it look? Each row is a digit being written, each column a digit that was read. Nobody has " +
          "told it the order: it found out that the place to look at moves on by one.",
        zh: "它在看哪里？每一行是正在写的数字，每一列是读过的数字。没有人告诉它顺序：它自己发现，要看的地方每次往后移一个。",
      },
      figure: { kind: "digits", networks: ["attention"], digits: "31415926", isMap: true },
    },
    {
      exercise: {
        kind: "lookedBack",
        ask: {
          en: (read) => `It has read ${read}. Which digit does it look at most while it writes the third one?`,
          zh: (read) => `它读的是 ${read}。写第三个数字的时候，它看得最多的是哪一个？`,
        },
        figure: { kind: "digits", networks: ["attention"], digits: "27182", isMap: true },
      },
    },
    {
      say: {
        en:
          "The same with translators: one with a single vector, one that looks back, alike in everything else. Write " +
          "a sentence of your own, short or long. The map shows where the second one looks for each token.",
        zh: "换成翻译模型也一样：一个只有一个向量，一个会回头看，其余都相同。写一句您自己的话，长短都行。图里是第二个模型每写一个词元时看哪些词。",
      },
      figure: {
        kind: "lessons", names: ["lesson-vector", "lesson-attention"], isMap: true,
        text: "My sister told me that she wants to learn German because she is going to work in Berlin next year.",
      },
    },
    {
      say: {
        en:
          "Reading is still one step after the other. The Transformer's step was to leave out the recurrence and " +
          "keep the attention. The next chapters look at that, on the translator.",
        zh: "不过读的时候，还是得一步接一步。Transformer 迈出的一步，是去掉循环，只留下注意力。接下来的几章就在翻译模型上看这一点。",
      },
    },
  ],
};
