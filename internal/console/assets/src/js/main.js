// The console's script. Everything here is added on top of pages that already work:
// live update, keys, the undo ring, passkeys, reading a grant back, copy buttons.
import { startLive } from "./live.js";
import { startRegions, refresh, markNews } from "./regions.js";
import { startKeys } from "./keys.js";
import { startPasskeys } from "./passkey.js";
import { startForms } from "./forms.js";
import { startRing } from "./ring.js";
import { startDots } from "./dots.js";
import { startBoard } from "./board.js";

startRegions(); // first: it remembers the page as the server drew it
startForms();
startBoard();
startKeys();
startRing();
startDots();
startPasskeys();
startLive({ onEvent: markNews, onReconnect: refresh });
