// Pages opened from a disk may not start the worker that searches. Its script runs in a hidden frame instead. The name of
// this file keeps the theme from loading a shim from another host.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            document.body.append(frame);
            const inside = frame.contentWindow;
            inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
            this.ready = new Promise((resolve) => {
                const script = frame.contentDocument.createElement("script");
                script.src = url;
                script.onload = resolve;
                frame.contentDocument.body.append(script);
            });
            this.inside = inside;
        }
        postMessage(data) {
            this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
        }
    };
}
