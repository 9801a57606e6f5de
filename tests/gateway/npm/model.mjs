// SPDX-License-Identifier: Apache-2.0
// A model that says what a test wrote for it, so that an agent needs no network.
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";

/** A call of one tool, as the model says it. */
export const call = (name, args, id = name) =>
  new AIMessage({ content: "", tool_calls: [{ name, args, id, type: "tool_call" }] });

/** The text of the last message that a tool answered with. */
export const answered = (messages) =>
  messages.findLast((message) => message.getType() === "tool").text;

/** script: messages, texts, or functions from the messages so far to one of them. */
export class FakeModel extends BaseChatModel {
  constructor(script) {
    super({});
    this.script = script;
    this.at = 0;
  }

  _llmType() {
    return "fake";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const next = this.script[this.at++];
    if (next === undefined) throw new Error("the model has nothing more to say");
    const said = typeof next === "function" ? next(messages) : next;
    const message = typeof said === "string" ? new AIMessage(said) : said;
    return { generations: [{ text: message.text, message }] };
  }
}
