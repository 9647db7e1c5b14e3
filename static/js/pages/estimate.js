// A form that says what it will cost, while one types.

import $ from "../../lib/jquery.module.min.js";
import { keepTyped } from "../lib/typed.js";
import { previewWhileTyping } from "../live/preview.js";

const form = $("[data-preview]");
previewWhileTyping(form);
keepTyped(form);
