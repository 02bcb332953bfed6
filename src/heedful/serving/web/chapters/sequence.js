// Chapter: from one sequence to another (SPEC 1 and 2.1).

const KEY = { text: "I have lost my key.", target: "de" };

export const chapter = {
  name: "sequence",
  title: { en: "One sequence becomes another", zh: "从一个序列到另一个序列" },
  steps: [
    {
      say: {
        en:
          "A translator is given a sequence of tokens and writes another one. The two rarely have the same length, " +
          "and nobody says beforehand how long the second will be. A token is a word or a piece of one; the first " +
          "one here, <2de>, only says: into German.",
        zh: "翻译模型读入一串词元，再写出另一串。两串的长度往往不同，后一串会有多长，事先也没人知道。词元是一个词，或者词的一部分；这里的第一个词元 <2de> 只表示一件事：译成德语。",
      },
      figure: { kind: "sequence", ...KEY, step: 0 },
    },
    {
      say: {
        en:
          "It has two halves. The encoder reads the whole sentence and makes of every token a list of numbers that " +
          "says what the token means here. The decoder writes the translation, one token after the other.",
        zh: "它由两半组成。编码器通读整个句子，把每个词元变成一组数，表示这个词元在这里的意思。解码器负责写译文，一个词元接一个词元地写。",
      },
    },
    {
      say: {
        en:
          "At each step the decoder is shown what it has written so far and gives a probability to every token it " +
          "knows. One of them is written down, and the next step begins. Move the slider: the list in the figure " +
          "is the model's own, for exactly these beginnings.",
        zh: "每一步，解码器看着自己已经写出的部分，给它认识的每个词元一个概率；选定一个写下来，再走下一步。拖动滑块看看：图中的列表就是模型在这样的开头之后真正给出的概率。",
      },
      figure: { kind: "sequence", ...KEY, step: 2 },
    },
    {
      exercise: {
        kind: "nextToken",
        ask: {
          en: (written) => `It has written “${written}”. Which token will it write next?`,
          zh: (written) => `它已经写出“${written}”。下一个词元会是哪一个？`,
        },
        figure: { kind: "sequence", ...KEY, step: 3 },
      },
    },
    {
      say: {
        en:
          "It begins with a start symbol and stops when it writes the end symbol, </s>. That is all it needs to " +
          "write sentences of any length.",
        zh: "它从一个开始符号起步，写出结束符 </s> 就停下来。凭这一条规则，它就能写出任意长度的句子。",
      },
      figure: { kind: "sequence", ...KEY, step: 6 },
    },
    {
      say: {
        en:
          "The first networks that worked this way read the sentence word by word and kept one list of numbers, " +
          "from which everything had to be written. A long sentence does not fit into it. The next chapter " +
          "shows it.",
        zh: "最早这样工作的网络逐词读句子，最后只留下一组数，整篇译文都要靠它写出来。句子一长，就装不下了。下一章就来看这一点。",
      },
    },
  ],
};
