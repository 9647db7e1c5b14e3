// A form that says what it will cost, while one types.

import $ from "jquery";
import { keepTyped } from "../lib/typed.js";
import { previewWhileTyping } from "../live/preview.js";

const form = $("[data-preview]");
previewWhileTyping(form);
keepTyped(form);
