// A form that says what it will cost, while one types.

import $ from "../../lib/jquery.module.min.js";
import { previewWhileTyping } from "../live/preview.js";

previewWhileTyping($("[data-preview]"));
