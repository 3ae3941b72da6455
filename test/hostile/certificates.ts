import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** The certificates of a master, all for 127.0.0.1 and signed by `authority`, unless their names say otherwise. */
export interface Certificates {
  /** The only one that the clients trust. */
  readonly authority: string;
  readonly good: Certificate;
  readonly selfSigned: Certificate;
  readonly ofAnotherHost: Certificate;
  readonly expired: Certificate;
}

const here = "IP:127.0.0.1";
const elsewhere = "DNS:elsewhere.example";

/** Has openssl make them; or tells why it could not. */
export function makeCertificates(): Certificates | { readonly notReadyReason: string } {
  const directory = mkdtempSync(join(tmpdir(), "quorlock-certificates-"));
  try {
    return new Authority(directory).certificates();
  } catch (error) {
    return { notReadyReason: `openssl made no certificates: ${String(error)}` };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** An authority as `openssl ca` keeps it: the only command that signs for a time in the past. */
class Authority {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    mkdirSync(this.#path("issued"));
    writeFileSync(this.#path("index.txt"), "");
    writeFileSync(
      this.#path("ca.conf"),
      [
        "[ca]\ndefault_ca = here",
        `[here]\ndatabase = ${this.#path("index.txt")}\nnew_certs_dir = ${this.#path("issued")}`,
        "rand_serial = yes\ndefault_md = sha256\npolicy = any\ncopy_extensions = copy\nunique_subject = no",
        "[any]\ncommonName = supplied\n",
      ].join("\n"),
    );
    this.#selfSign("authority", "DNS:authority");
  }

  certificates(): Certificates {
    return {
      authority: this.#read("authority").cert,
      good: this.#sign("good", here, "20200101000000Z", "20490101000000Z"),
      selfSigned: this.#selfSign("self", here),
      ofAnotherHost: this.#sign("another", elsewhere, "20200101000000Z", "20490101000000Z"),
      expired: this.#sign("expired", here, "20200101000000Z", "20200102000000Z"),
    };
  }

  #sign(name: string, subject: string, from: string, until: string): Certificate {
    const request = this.#path(`${name}.csr`);
    openssl(["req", "-new", ...this.#newKey(name), ...subjectOf(name, subject), "-out", request]);
    const authority = [
      "-config",
      this.#path("ca.conf"),
      "-cert",
      this.#path("authority.pem"),
      "-keyfile",
      this.#path("authority.key"),
    ];
    const time = ["-startdate", from, "-enddate", until];
    const files = ["-in", request, "-out", this.#path(`${name}.pem`)];
    openssl(["ca", "-batch", "-notext", ...authority, ...time, ...files]);
    return this.#read(name);
  }

  #selfSign(name: string, subject: string): Certificate {
    const out = ["-days", "2", "-out", this.#path(`${name}.pem`)];
    openssl(["req", "-x509", ...this.#newKey(name), ...subjectOf(name, subject), ...out]);
    return this.#read(name);
  }

  #newKey(name: string): readonly string[] {
    return `-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ${this.#path(`${name}.key`)}`.split(
      " ",
    );
  }

  #read(name: string): Certificate {
    return {
      key: readFileSync(this.#path(`${name}.key`), "utf8"),
      cert: readFileSync(this.#path(`${name}.pem`), "utf8"),
    };
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

function subjectOf(name: string, alternative: string): readonly string[] {
  return ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${alternative}`];
}

function openssl(args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: "pipe" });
}
