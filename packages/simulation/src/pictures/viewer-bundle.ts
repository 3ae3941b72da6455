// Made from viewer/ by cli/bundle-viewer.ts: edit those, then `pnpm --filter @quorlock/simulation run viewer`.

export const viewerScript: string = String.raw`"use strict";(()=>{var N=class{element;pen;constructor(t){let i=t.getContext("2d");if(!i)throw new Error("this browser has no 2D \
canvas");this.element=t,this.pen=i}begin(t,i){let n=globalThis.devicePixelRatio||1,[e,r]=[Math.round(t*n),Math.
round(i*n)];(this.element.width!==e||this.element.height!==r)&&(this.element.width=e,this.element.height=r,this.
element.style.height="".concat(i,"px")),this.pen.setTransform(n,0,0,n,0,0),this.pen.clearRect(0,0,t,i),this.pen.
textBaseline="middle",this.pen.lineCap="butt"}};function H(o,t,i){return t.find(n=>o.measureText(n).width<=i)??
""}function C(o,t,i){if(i<14)return"";if(o.measureText(t).width<=i)return t;let[n,e]=[0,t.length];for(;n<e;){let r=Math.
ceil((n+e)/2);o.measureText("".concat(t.slice(0,r),"\u2026")).width<=i?n=r:e=r-1}return n<2?"":"".concat(t.slice(
0,n),"\u2026")}var xt={loose:7,dense:4.5,crossed:7};function Q(o,[t,i,n,e],r,s){o.save(),o.beginPath(),o.rect(
t,i,n,e),o.clip(),o.strokeStyle=r,o.lineWidth=1,o.beginPath();let a=xt[s]*Math.SQRT2;for(let l=-e;l<n;l+=a)o.moveTo(
t+l,i+e),o.lineTo(t+l+e,i),s==="crossed"&&(o.moveTo(t+l,i),o.lineTo(t+l+e,i+e));o.stroke(),o.restore()}function v({
font:o},t,i=400){return"".concat(i," ").concat(t,"px ").concat(o)}function D(o,[t,i,n,e],r=4){o.beginPath(),o.
roundRect(t,i,Math.max(1,n),e,Math.min(r,Math.max(1,n)/2))}function Z(o,t){let i=t<720,n=i?20:0,e=24,r=o.resources.length>2?14:18,s=16,a=0,l=(w,x=n)=>{let b={top:a,height:w+
x,body:a+x};return a+=b.height,b},c=l(40,0),d=l(o.faults.length>0?58:0,o.faults.length>0?n:0),m=o.clients.map(
()=>l(e+46)),u=l(48),h=Math.max(1,o.resources.length)*(r+3)+s+13,f=o.masters.map(()=>l(h)),p=l(96);return{width:t,
height:a,gutter:i?0:180,axis:c,faults:d,clients:m,wire:u,masters:f,margins:p,bar:e,key:r,strip:s}}function g(o,t=3){return"".concat((o/1e3).toLocaleString("en",{minimumFractionDigits:0,maximumFractionDigits:t}),
" ms")}function L(o,t=1){let i=Math.abs(o).toLocaleString("en",{maximumFractionDigits:t});return o===0?"\xB10":
"".concat(o<0?"\u2212":"+").concat(i)}function j(o){return Math.abs(o)>=1e4?"".concat(L(o/1e4,2)," %"):"".concat(
L(o,0)," ppm")}function G(o){return Math.abs(o)>=1e4?"".concat(L(o/1e3,2)," s"):"".concat(L(o)," ms")}var vt=120;function Tt({window:o,layout:t}){let i=o.scale*(t.gutter===0?84:vt),n=10**Math.floor(Math.log10(i)),
e=[1,2,5,10].map(s=>s*n).find(s=>s>=i)??i,r=[];for(let s=Math.ceil(o.from/e)*e;s<=o.until;s+=e)r.push(s);return{
times:r,step:e}}function tt(o){let{pen:t,window:i,layout:n,palette:e,picture:r}=o,{times:s,step:a}=Tt(o),l=Math.
max(0,Math.ceil(3-Math.log10(a)));t.font=v(e,12.5),t.textAlign="center";for(let d of s){let m=Math.round(i.x(d))+
.5;t.fillStyle=e.line,t.fillRect(m-.5,n.axis.height-6,1,n.height-n.axis.height+6),t.fillStyle=e.muted;let u=g(
d,l),h=t.measureText(u).width/2;m-h>=n.gutter&&m+h<=n.width&&t.fillText(u,m,19)}n.gutter>0&&(t.textAlign="left",
t.fillText("true time",0,19));let c=i.x(r.calmFrom);r.calmFrom>r.until||c<n.gutter||c>n.width||(t.setLineDash(
[2,5]),t.lineWidth=1,t.strokeStyle=e.muted,t.beginPath(),t.moveTo(Math.round(c)+.5,n.axis.height-6),t.lineTo(Math.
round(c)+.5,n.height),t.stroke(),t.setLineDash([]))}function et({pen:o,window:t,layout:i,palette:n,moment:e}){
if(e===void 0)return;let r=Math.round(t.x(e))+.5;if(r<i.gutter||r>i.width)return;o.strokeStyle=n.muted,o.lineWidth=
1,o.beginPath(),o.moveTo(r,i.axis.height-8),o.lineTo(r,i.height),o.stroke(),o.font=v(n,12.5,600);let s=g(e),a=o.
measureText(s).width+14,l=Math.min(Math.max(r-a/2,i.gutter),i.width-a);o.fillStyle=n.ink,o.beginPath(),o.roundRect(
l,8,a,22,5),o.fill(),o.fillStyle=n.ground,o.textAlign="center",o.fillText(s,l+a/2,19.5)}function U(o){let t=getComputedStyle(o),i=n=>t.getPropertyValue("--".concat(n)).trim();return{ground:i("panel"),
ink:i("ink"),muted:i("muted"),line:i("line"),faint:i("faint"),faintInk:i("faint-ink"),danger:i("danger"),dangerBand:i(
"danger-band"),onHolder:i("on-holder"),holders:Array.from({length:6},(n,e)=>i("holder-".concat(e))),font:t.fontFamily}}
function M({holders:o,muted:t},i){return o[i%o.length]??t}function nt(o){let{picture:t,window:i}=o,n=t.clients.map(()=>Number.NEGATIVE_INFINITY);for(let e of t.holds){if(!i.
shows([e.from,e.until]))continue;let[r,s]=i.edges(e.from,e.until);s<=(n[e.client]??0)||(n[e.client]=Math.floor(
s),Mt(o,e,r,s))}}function Mt(o,t,i,n){let{pen:e,window:r,layout:s,palette:a,targets:l,token:c,picture:d}=o,u=s.
clients[t.client].body+14,h=M(a,t.client);e.globalAlpha=c>=0&&c!==t.token?.45:1,e.strokeStyle=h,e.lineWidth=1.25,
D(e,[i+.5,u+.5,n-i-1,s.bar-1]),e.stroke();for(let[x,b]of t.beliefs){let[T,k]=r.edges(x,b);e.fillStyle=h,D(e,[T,
u,k-T,s.bar]),e.fill()}l.area({kind:"hold",it:t},[i,u,n-i,s.bar]);let f=Math.max(i,s.gutter),p=t.resources.map(
x=>d.resources[x]).join(" + ");e.font=v(a,13,600),e.textAlign="left",e.fillStyle=a.onHolder;let y=Math.min(n,s.
width)-f-18,w=H(e,["".concat(p," \xB7 hold ").concat(t.number),p,"".concat(t.number)],y);e.fillText(w,f+9,u+s.
bar/2+.5),e.globalAlpha=1,kt(o,t,u+s.bar+4)}function kt(o,t,i){let{pen:n,window:e,palette:r,targets:s}=o,a=Number.
NEGATIVE_INFINITY;for(let l of t.writes){let c=e.x(l[0]);c<o.layout.gutter-5||c>o.layout.width+5||c-a<4||(a=c,
n.beginPath(),n.moveTo(c,i),n.lineTo(c+3.5,i+6),n.lineTo(c-3.5,i+6),n.closePath(),n.lineWidth=1.25,n.fillStyle=
M(r,t.client),n.strokeStyle=r.danger,l[1]?n.fill():n.stroke(),s.area({kind:"write",it:t,write:l},[c-4,i-1,8,9]))}}
function it(o){let{picture:t,layout:i,window:n,pen:e,palette:r,targets:s}=o;for(let[a,{calls:l}]of t.clients.entries()){
let c=i.clients[a].body+9,d=Number.NEGATIVE_INFINITY;for(let m of l){if(!n.shows([m[0],m[1]]))continue;let[u,h]=n.
edges(m[0],m[1]);h<=d||(d=Math.floor(h),e.fillStyle=r.muted,e.fillRect(u,c,Math.max(1,h-u),1.5),h-u>6&&(e.fillRect(
u,c-2,1,5.5),e.fillRect(h-1,c-2,1,5.5)),s.area({kind:"call",it:m,client:a},[u,c-5,h-u,9]),St(o,m,u,h,c))}}}function St({
pen:o,palette:t,layout:i},n,e,r,s){let a=Math.max(e,i.gutter),l=n[3]==="done"?n[2]:"".concat(n[2],": ").concat(
n[3]);o.font=v(t,11.5);let c=H(o,[l,n[2]],Math.min(r,i.width)-a-20);if(c==="")return;let d=o.measureText(c).width;
o.fillStyle=t.ground,o.fillRect(a+6,s-4,d+8,9),o.fillStyle=t.muted,o.textAlign="left",o.fillText(c,a+10,s+.5)}
function ot(o){let{picture:t,window:i}=o;for(let[n,{keys:e}]of t.masters.entries()){let r=t.resources.map(()=>Number.
NEGATIVE_INFINITY);for(let s of e){let[a,,,l,c]=s;if(!i.shows([l,c]))continue;let[d,m]=i.edges(l,c);m<=(r[a]??
0)||(r[a]=Math.floor(m),Pt(o,s,n,[d,m]))}}}function Pt(o,t,i,[n,e]){let{pen:r,layout:s,palette:a,targets:l,token:c,
picture:d}=o,[m,u,h,,,,f]=t,p=s.masters[i].body+8+m*(s.key+3),y=u<0?a.muted:M(a,u),w=c===h;r.fillStyle=y,r.globalAlpha=
c>=0&&!w?.12:w?.5:.28,D(r,[n,p,e-n,s.key],3),r.fill(),r.globalAlpha=c>=0&&!w?.4:1,r.fillRect(n,p,Math.min(2,Math.
max(1,e-n)),s.key),f==="expired"&&e-n>4&&(r.strokeStyle=y,r.lineWidth=1.5,r.setLineDash([2,2]),r.beginPath(),r.
moveTo(e-.75,p),r.lineTo(e-.75,p+s.key),r.stroke(),r.setLineDash([])),l.area({kind:"key",it:t,master:i},[n,p,e-
n,s.key]);let x=Math.max(n,s.gutter);r.font=v(a,s.key>16?12:11),r.textAlign="left",r.fillStyle=a.ink;let b=d.resources[m]??
"",T=Math.min(e,s.width)-x-14,k=H(r,u<0?[b]:["".concat(b," \xB7 client-").concat(u),b],T);r.fillText(k,x+7,p+s.
key/2+.5),r.globalAlpha=1}var Ct=2,R=24,Lt=300;function rt(o){let{pen:t,picture:i,window:n,layout:e,palette:r,targets:s}=o;if(e.faults.height===
0)return;let a=Array.from({length:Ct},()=>Number.NEGATIVE_INFINITY),l=i.faults.filter(({from:c,until:d})=>n.shows(
[c,d]));t.font=v(r,12.5),t.textAlign="left";for(let c of l){let[d,m]=n.edges(c.from,c.until),u=a.findIndex(I=>I<=
d-4),h=e.faults.body+8+Math.max(0,u)*R;if(u<0){Rt(o,c,d);continue}t.fillStyle=r.muted,t.fillRect(d,h,1.5,R-4),
t.beginPath(),t.moveTo(d,h),t.lineTo(d+9,h+4.5),t.lineTo(d,h+9),t.closePath(),t.fillStyle=r.ink,t.fill(),s.area(
{kind:"fault",it:c},[d-3,h,15,R-4]),m>d+2&&(t.fillStyle=r.line,t.fillRect(d,h+R-5,m-d,2)),t.fillStyle=r.ink;let f=t.
measureText(c.words).width,p=Math.max(d,e.gutter)+14,y=Math.min(Lt,e.width-p),w=f>y&&d-f-8>Math.max(a[u]??0,e.
gutter),x=w?d-f-8:p,b=w?c.words:C(t,c.words,y);t.fillText(b,x,h+9);let T=t.measureText(b).width;a[u]=Math.max(
d+14,x+T+10);let k=Math.min(d-3,x);s.area({kind:"fault",it:c},[k,h,a[u]-k,R-4])}}function Rt({pen:o,layout:t,palette:i,
targets:n},e,r){let s=t.faults.top+t.faults.height-7;o.fillStyle=i.ink,o.beginPath(),o.moveTo(r,s),o.lineTo(r+
7,s+3.5),o.lineTo(r,s+7),o.closePath(),o.fill(),n.area({kind:"fault",it:e},[r-2,s-2,11,10])}function lt(o){let{picture:t,layout:i}=o,n=It([...t.clients,...t.masters],t.activeUntil);for(let[e,r]of t.clients.
entries())at(o,i.clients[e],r,n);for(let[e,r]of t.masters.entries())at(o,i.masters[e],r,n);i.faults.height>0&&
F(o,i.faults),F(o,i.wire),F(o,i.margins)}function ct(o){let{pen:t,picture:i,layout:n,palette:e}=o;n.gutter>0&&
(t.fillStyle=e.ground,t.fillRect(0,n.axis.height,n.gutter,n.height-n.axis.height)),n.faults.height>0&&$(o,n.faults,
"Faults"),$(o,n.wire,"Messages"),$(o,n.margins,"Margin","time to spare");for(let[r,s]of i.clients.entries()){let a=n.
clients[r];$(o,a,s.name,st(o,s)),$t(o,a,r)}for(let[r,s]of i.masters.entries())$(o,n.masters[r],s.name,st(o,s))}
function F({pen:o,layout:t,palette:i},{top:n}){o.fillStyle=i.line,o.fillRect(0,n,t.width,1)}function $({pen:o,
layout:t,palette:i},n,e,r=""){o.textAlign="left";let s=t.gutter>0;o.font=v(i,14,600),o.fillStyle=i.ink;let a=s?
18:16,l=s?n.top+24:n.top+13;o.fillText(e,a,l);let c=o.measureText(e).width;if(r==="")return;o.font=v(i,12),o.fillStyle=
i.muted;let d=s?t.gutter-a-14:t.width-a-c-16;o.fillText(C(o,r,d),s?a:a+c+10,s?l+18:l)}function $t({pen:o,layout:t,
palette:i},n,e){o.fillStyle=M(i,e);let r=t.gutter>0?n.top+17:n.top+7;o.beginPath(),o.roundRect(0,r,10,13,3),o.
fill()}function st({moment:o,window:t},{clock:i}){let n=o??t.from,e=i.findLast(([s])=>s<=n)??i[0];if(!e)return"";
let r=e[4]===0?"":" \xB7 ".concat(j(e[4]));return"".concat(G(E(e,n))).concat(r)}function E([o,t,i,n],e){return t<=
o?i:i+(n-i)*(Math.min(e,t)-o)/(t-o)}function at(o,t,i,n){F(o,t);for(let e of i.pauses)At(o,t,i.name,e);Nt(o,t,
i.clock,n)}var Et={frozen:"loose",suspended:"dense",down:"crossed",ended:"crossed"};function At(o,t,i,n){let{pen:e,
window:r,palette:s,targets:a}=o,[l,c,d]=n;if(!r.shows([l,c]))return;let[m,u]=r.edges(l,c),h=[m,t.body+1,Math.max(
1,u-m),t.top+t.height-t.body-1];e.fillStyle=s.faint,e.fillRect(...h),e.globalAlpha=.6,Q(e,h,s.faintInk,Et[d]),
e.globalAlpha=1,a.area({kind:"pause",it:n,name:i},h),e.font=v(s,11.5,500),e.textAlign="left",e.fillStyle=s.muted;
let f=u-Math.max(m,o.layout.gutter)-12;e.measureText(d).width<=f&&e.fillText(d,Math.max(m,o.layout.gutter)+6,t.
top+t.height-21)}function It(o,t){return o.flatMap(({clock:n})=>{let e=n[0]?.[2]??0;return n.flatMap(r=>[Math.
abs(r[2]-e),Math.abs(E(r,Math.max(r[0],t))-e)])}).reduce((n,e)=>Math.max(n,e),1)}function Nt(o,t,i,n){let{pen:e,
window:r,palette:s,layout:a}=o,l=t.top+t.height-a.strip/2-3,c=i[0]?.[2]??0,d=m=>l-(m-c)/n*(a.strip/2);e.lineWidth=
1,e.strokeStyle=s.line,e.setLineDash([2,4]),e.beginPath(),e.moveTo(a.gutter,l),e.lineTo(a.width,l),e.stroke(),
e.setLineDash([]),e.strokeStyle=s.faintInk,e.lineWidth=1.5,e.beginPath();for(let[m,u]of i.entries()){if(!r.shows(
[u[0],u[1]]))continue;let h=Math.max(u[0],r.from),f=Math.min(u[1],r.until);(m===0||u[0]<r.from)&&e.moveTo(r.x(
h),d(E(u,h))),e.lineTo(r.x(h),d(E(u,h))),e.lineTo(r.x(f),d(E(u,f)))}e.stroke(),e.font=v(s,11.5),e.textAlign="l\
eft",e.fillStyle=s.muted;for(let[m,u]of i.entries()){let h=i[m-1],f=r.x(u[0]);if(!h||f<a.gutter||f>a.width)continue;
let p=u[2]-h[3],y=[Math.abs(p)>.001?G(p):"",u[4]===h[4]?"":j(u[4])];e.fillText(y.filter(w=>w!=="").join(", "),
f+4,l-4)}}function mt(o){let{pen:t,picture:i,window:n,layout:e,palette:r}=o,s=i.holds.filter(b=>n.shows([b.from,b.until])),
a=s.flatMap(({margins:b})=>b.map(([,T])=>T)),[l,c]=Ht(a,i.ttl*1e3),{body:d,top:m,height:u}=e.margins,[h,f]=[d+
14,m+u-14],p=b=>f-(Math.min(Math.max(b,l),c)-l)/(c-l)*(f-h),y=Math.round(p(0))+.5;t.fillStyle=r.faint,t.fillRect(
e.gutter,y,e.width-e.gutter,f-y+6),t.strokeStyle=r.muted,t.lineWidth=1,t.beginPath(),t.moveTo(e.gutter,y),t.lineTo(
e.width,y),t.stroke();for(let b of s)Dt(o,b,p,y);let w=a.reduce((b,T)=>Math.min(b,T),Number.POSITIVE_INFINITY);
if(t.font=v(r,12),t.textAlign="left",t.fillStyle=r.muted,t.fillText("0",e.gutter+4,y-8),!Number.isFinite(w))return;
t.fillStyle=w<0?r.danger:r.muted,t.font=v(r,12,600),t.textAlign="right";let x=w<0?"others can win before the d\
eadline: ":"least in view ";t.fillText("".concat(x).concat(g(w,1).replace("-","\u2212")),e.width-8,d+9)}function Ht(o,t){
let i=o.reduce((r,s)=>Math.max(r,s),0),n=o.reduce((r,s)=>Math.min(r,s),0),e=Math.max(1,-n,Math.min(i,t/4));return[
Math.min(Math.max(n,-e),-e/4),Math.max(Math.min(i,e),e/4)]}function Dt({pen:o,window:t,palette:i},n,e,r){for(let[
s,[a,l]]of n.margins.entries()){let c=n.margins[s+1]?.[0]??n.until;if(!t.shows([a,c]))continue;let[d,m]=t.edges(
a,c),u=e(l),h=Math.max(1,m-d);l<0&&(o.fillStyle=i.dangerBand,o.fillRect(d,r,h,u-r)),o.fillStyle=l<0?i.danger:M(
i,n.client),o.fillRect(d,u-1,h,2)}}var Ft=9,Ot=400;function ut(o){let{picture:t,focus:i,token:n}=o,e=Vt(o),r=e.length<=(o.layout.width-o.layout.gutter)/
Ft;r||zt(o,e);let s=e.length<60?.75:.45;if(r)for(let a of e)q(o,a,n>=0?s/4:s);if(n>=0){let a=e.filter(l=>l[8]===
n).slice(0,Ot);for(let l of a)q(o,l,.9)}i?.kind==="message"&&q(o,i.it,1,2.25),t.messagesLeftOut>0&&Bt(o)}function Vt({
picture:{messages:o},window:t}){let[i,n]=[0,o.length];for(;i<n;){let e=i+n>>1;(o[e]?.[2]??0)<=t.until?i=e+1:n=
e}return o.slice(0,i).filter(e=>Wt(e)>=t.from)}function Wt([,,o,t,i,n]){return Math.max(o,t,i,n)}function q(o,t,i,n=1.25){
let{pen:e,window:r,layout:s,palette:a,targets:l}=o,[c,d,m,u,h,f]=t,p=s.clients[c].body+14+s.bar,y=s.masters[d].
body+6;e.globalAlpha=i,e.strokeStyle=M(a,c),e.fillStyle=e.strokeStyle,e.lineWidth=n;let w=(T,k,I,J,wt)=>{e.setLineDash(
wt),e.beginPath(),e.moveTo(T,k),e.lineTo(I,J),e.stroke(),e.setLineDash([]),l.line({kind:"message",it:t},[T,k,I,
J])},[x,b]=[r.x(m),r.x(u)];u<0&&dt(o,[x,p,r.x(f<0?m:f),(p+y)/2]),u<0?w(x,p,r.x(f<0?m:f),(p+y)/2,[4,4]):(w(x,p,
b,y,[]),e.beginPath(),e.arc(b,y,n+1,0,2*Math.PI),e.fill(),h>=0?w(b,y,r.x(h),p,[1.5,2.5]):f>=0&&(w(b,y,r.x(Math.
max(f,u)),(p+y)/2,[1.5,2.5]),dt(o,[b,y,r.x(Math.max(f,u)),(p+y)/2]))),e.globalAlpha=1}function dt({pen:o,palette:t},[
,,i,n]){let e=o.strokeStyle;o.strokeStyle=t.danger,o.beginPath(),o.moveTo(i-3.5,n-3.5),o.lineTo(i+3.5,n+3.5),o.
moveTo(i+3.5,n-3.5),o.lineTo(i-3.5,n+3.5),o.stroke(),o.strokeStyle=e}function zt(o,t){let{pen:i,window:n,layout:e,
palette:r}=o,s=4,a=new Map;for(let[,,m,,u]of t){if(m<n.from)continue;let h=e.gutter+Math.floor((n.x(m)-e.gutter)/
s)*s,f=a.get(h)??{sent:0,unheard:0};f.sent+=1,u<0&&(f.unheard+=1),a.set(h,f)}let l=[...a.values()].reduce((m,{
sent:u})=>Math.max(m,u),1),c=e.wire.top+e.wire.height-4,d=e.wire.top+e.wire.height-e.wire.body-12;for(let[m,{sent:u,
unheard:h}]of a)i.fillStyle=r.faintInk,i.fillRect(m,c-u/l*d,s-1,u/l*d),i.fillStyle=r.danger,i.fillRect(m,c-h/l*
d,s-1,h/l*d)}function Bt({pen:o,layout:t,palette:i,picture:n}){o.font=v(i,12),o.fillStyle=i.muted,o.textAlign=
"right";let e="".concat(n.messagesLeftOut.toLocaleString("en")," messages of attempts that failed are left out");
o.fillText(C(o,e,t.width-t.gutter-12),t.width-8,t.wire.body+10)}function ht(o){let{pen:t,picture:i,window:n,layout:e,palette:r,targets:s}=o;for(let a of i.overlaps){if(!n.shows(
[a.from,a.until]))continue;let[l,c]=n.edges(a.from,a.until),d=e.axis.height-6,m=[l,d,Math.max(2,c-l),e.height-
d];t.fillStyle=r.dangerBand,t.fillRect(...m),t.fillStyle=r.danger,t.fillRect(l,d,1,m[3]),t.fillRect(l+m[2]-1,d,
1,m[3]),s.area({kind:"overlap",it:a},m)}}function ft(o){let{pen:t,picture:i,window:n,layout:e,palette:r}=o,s=Number.
NEGATIVE_INFINITY;for(let{from:a,until:l,holds:c,resource:d}of i.overlaps){if(!n.shows([a,l]))continue;let[m,u]=n.
edges(a,l);t.strokeStyle=r.danger,t.lineWidth=2.5;for(let w of c){let x=e.clients[i.holds[w]?.client??0];t.strokeRect(
m,x.body+12.5,Math.max(2,u-m),e.bar+3)}let h="two holders of ".concat(i.resources[d]," for ").concat(g(l-a,1));
t.font=v(r,12.5,600);let f=t.measureText(h).width+16,p=Math.min(Math.max((m+u)/2-f/2,e.gutter+2),e.width-f-2);
if(p<s||f>e.width-e.gutter)continue;s=p+f+6;let y=e.wire.body+3;t.fillStyle=r.danger,t.beginPath(),t.roundRect(
p,y,f,22,5),t.fill(),t.fillStyle=r.onHolder,t.textAlign="left",t.fillText(h,p+8,y+11.5)}}function pt({pen:o,picture:t,
window:i,layout:n,palette:e,targets:r}){for(let s of t.violations){let a=i.x(s.at);if(a<n.gutter-6||a>n.width+
6)continue;let l=n.axis.height-6;o.fillStyle=e.danger,o.beginPath(),o.moveTo(a,l-7),o.lineTo(a+7,l),o.lineTo(a,
l+7),o.lineTo(a-7,l),o.closePath(),o.fill(),r.area({kind:"violation",it:s},[a-8,l-8,16,16])}}function gt(o){switch(o?.kind){case"hold":case"write":return o.it.token;case"key":return o.it[2];case"message":
return o.it[8];default:return-1}}var O=class{#t=[];#e=[];clear(){this.#t=[],this.#e=[]}area(t,i){this.#t.push({thing:t,box:i})}line(t,i){this.#e.
push({thing:t,ends:i})}at(t,i){let n=this.#t.findLast(({box:[e,r,s,a]})=>{let l=Math.max(0,(6-s)/2);return t>=
e-l&&t<=e+s+l&&i>=r&&i<=r+a});return n&&(n.thing.kind==="violation"||n.thing.kind==="fault"||n.thing.kind==="w\
rite")?n.thing:this.#n(t,i)??n?.thing}#n(t,i){let n,e=5;for(let{thing:r,ends:s}of this.#e){let a=Kt(s,t,i);a>=
e||(e=a,n=r)}return n}};function Kt([o,t,i,n],e,r){let[s,a]=[i-o,n-t],l=s*s+a*a,c=l===0?0:Math.min(1,Math.max(
0,((e-o)*s+(r-t)*a)/l));return Math.hypot(e-o-c*s,r-t-c*a)}var V=class{canvas;window;#t;#e;#n=new O;#i;#o=U(document.documentElement);#r;#s;#a=!1;onPainted;constructor(t,i,n,e){
this.canvas=t,this.window=e,this.#t=n,this.#e=i,this.#i=this.#l()}get layout(){return this.#i}resize(){this.#o=
U(document.documentElement),this.#i=this.#l(),this.repaint()}thingAt(t,i){return t<this.#i.gutter?void 0:this.#n.
at(t,i)}point(t,i){this.#r=t,this.#s=i,this.repaint()}repaint(){this.#a||(this.#a=!0,requestAnimationFrame(()=>{
this.#a=!1,this.#c(),this.onPainted?.()}))}#l(){let t=Z(this.#t,this.canvas.element.clientWidth);return this.window.
place(t.gutter,t.width-t.gutter),t}#c(){let{pen:t}=this.canvas,i=this.#i;this.canvas.begin(i.width,i.height),this.#n.
clear();let n={pen:t,layout:i,picture:this.#t,window:this.window,palette:this.#o,targets:this.#n,focus:this.#r,
token:gt(this.#r),moment:this.#s};ht(n),tt(n),lt(n),mt(n),ut(n),it(n),ot(n),nt(n),ft(n),rt(n),ct(n),pt(n),et(n),
this.#e.paint(this.#o,i.width)}};function A(o,t){let{title:i,lines:n}=_t(o,t);return{title:i,lines:n,isDanger:t.kind==="violation"||t.kind==="o\
verlap"}}function _t(o,t){switch(t.kind){case"message":return Yt(o,t.it);case"hold":return Xt(o,t.it);case"key":
return Gt(o,t.it,t.master);case"call":return Ut(o,t.it,t.client);case"pause":return qt(t.it,t.name);case"write":
return{title:"".concat(W(o,t.it)," ").concat(t.write[1]?"writes":"is turned away by the fence"),lines:[["at",g(
t.write[0])],["in","hold ".concat(t.it.number)]]};case"fault":return{title:"Fault: ".concat(t.it.kind),lines:[
["at",g(t.it.from)],["what",t.it.words]]};case"violation":return{title:"Violation: ".concat(t.it.kind),lines:[
["at",g(t.it.at)],["what",t.it.detail]]};case"overlap":{let[i,n]=t.it.holds.map(e=>o.holds[e]);return{title:"T\
wo holders of ".concat(o.resources[t.it.resource]),lines:[["for","".concat(g(t.it.until-t.it.from),", from ").
concat(g(t.it.from))],["first","".concat(W(o,i),", hold ").concat(i.number)],["then","".concat(W(o,n),", hold ").
concat(n.number)]]}}}}function W({clients:o},{client:t}){return o[t]?.name??""}function Yt(o,t){let[i,n,e,r,s,
a,l,c]=t,d=s>=0?"".concat(g(s),", after ").concat(g(s-e)):a>=0?"never: the connection was lost":"not yet";return{
title:"".concat(o.clients[i]?.name," \u2192 ").concat(o.masters[n]?.name),lines:[["command",o.texts[l]??""],["\
reply",r<0?"none: it was never executed":o.texts[c]??""],["sent",g(e)],["executed",r<0?"never":"".concat(g(r),
", after ").concat(g(r-e))],["heard",d]]}}function Xt(o,t){let i=t.margins.reduce((e,[,r])=>Math.min(e,r),Number.
POSITIVE_INFINITY),n=t.beliefs.map(([e,r])=>"".concat(g(e)," to ").concat(g(r)));return{title:"".concat(W(o,t),
" holds ").concat(t.resources.map(e=>o.resources[e]).join(" and ")),lines:[["hold",String(t.number)],["believe\
s",n.join(", ")||"never"],["until","".concat(g(t.until),", given up or told")],["margin",Number.isFinite(i)?"".
concat(L(i/1e3,3)," ms at least"):"not known"],["writes",String(t.writes.length)]]}}var jt={expired:"expired b\
y its own clock",deleted:"deleted",overwritten:"overwritten",lost:"lost, the master went down",kept:"still the\
re at the end"};function Gt(o,t,i){let[n,e,,r,s,a,l]=t;return{title:"".concat(o.masters[i]?.name," keeps ").concat(
o.resources[n]),lines:[["for",e<0?"nobody known":o.clients[e]?.name??""],["from",g(r)],["until","".concat(g(s),
", ").concat(jt[l])],["expiry",a<0?"none":"".concat(g(a),", by its own clock")]]}}function Ut({clients:o},t,i){
let[n,e,r,s]=t;return{title:"".concat(o[i]?.name," calls ").concat(r),lines:[["from",g(n)],["took",g(e-n)],["c\
ame to",s]]}}function qt([o,t,i],n){let e=i==="ended"?[["from",g(o)]]:[["from",g(o)],["for",g(t-o)]];return{title:"".
concat(n," is ").concat(i),lines:e}}var z=class{#t;#e;#n;#i;#o;#r;#s=-1;constructor(t,i,n,e,r){this.#t=t,this.#e=i,this.#n=n,this.#i=e,this.#o=r,this.#r=
Jt(e),t.canvas.element.addEventListener("keydown",s=>{if(s.ctrlKey||s.metaKey||s.altKey)return;let a=this.#a[s.
key];a&&(s.preventDefault(),a())})}#a={ArrowLeft:()=>this.#e.pan(-80),ArrowRight:()=>this.#e.pan(80),ArrowUp:()=>this.#e.
zoom(1.4),ArrowDown:()=>this.#e.zoom(1/1.4),"+":()=>this.#e.zoom(1.4),"=":()=>this.#e.zoom(1.4),"-":()=>this.#e.
zoom(1/1.4),0:()=>this.#e.showAll(),Home:()=>this.#e.showAll(),n:()=>this.goToViolation(1),p:()=>this.goToViolation(
-1),".":()=>this.#l(1),",":()=>this.#l(-1),Escape:()=>this.#m()};goToViolation(t){let i=this.#e.nextViolation(
t);i?this.#c({kind:"violation",it:i}):this.#o.textContent="no further violation"}#l(t){this.#s=Math.min(Math.max(
0,this.#s+t),this.#r.length-1);let i=this.#r[this.#s];if(!i)return;this.#e.showAround(i.at),this.#t.point(i.thing,
i.at);let{left:n,top:e,width:r}=this.#t.canvas.element.getBoundingClientRect(),s=n+(this.#t.layout.gutter+r)/2;
this.#n.show(i.thing.it,A(this.#i,i.thing),s,Math.max(e,0)+60),this.#c(i.thing)}#c(t){let{title:i,lines:n}=A(this.#i,
t);this.#o.textContent=[i,...n.map(e=>e.join(" "))].join("; ")}#m(){this.#n.hide(),this.#t.point(void 0,void 0)}};
function Jt({holds:o,faults:t,violations:i}){return[...o.map(e=>({at:e.from,thing:{kind:"hold",it:e}})),...t.map(
e=>({at:e.from,thing:{kind:"fault",it:e}})),...i.map(e=>({at:e.at,thing:{kind:"violation",it:e}}))].sort((e,r)=>e.
at-r.at)}var B=class{#t;#e;#n=0;constructor(t,i){this.#t=t,this.#e=i}showAll(){this.#r([0,this.#e.activeUntil])}showStory(t){
let i=this.#e.violations[t];if(!i)return;let{at:n}=i,e=this.#e.ttl*1e3,r=this.#i(n),s=(r?.holds??[]).map(l=>this.#e.
holds[l]?.from??n),a=Math.max(0,Math.min(n-e,...s)-e/5,n-3*e);this.#r([a,Math.max(n,r?.until??n)+e/2])}showViolation(t){
let i=this.#e.violations[t];if(!i)return;let n=this.#i(i.at)??{from:i.at,until:i.at},e=this.#e.ttl*1e3,r=Math.
min(Math.max(5*(n.until-n.from),e/50),2*e);this.#r([n.from-r,n.until+r])}nextViolation(t){let{from:i,until:n}=this.#t.
window,e=({at:a})=>t*(a-(i+n)/2),r=this.#e.violations.filter(a=>e(a)>(n-i)/50),[s]=r.sort((a,l)=>e(a)-e(l));return s&&
this.showAround(s.at),s}showAround(t){let{from:i,until:n}=this.#t.window;this.#r([t-(n-i)/2,t+(n-i)/2])}#i(t){
return this.#e.overlaps.find(({from:i,until:n})=>i<=t+1&&n>=t-1)}zoom(t,i){let{gutter:n,width:e}=this.#t.layout;
this.#o(()=>this.#t.window.zoom(t,i??(n+e)/2))}pan(t){this.#o(()=>this.#t.window.pan(t))}#o(t){this.#n+=1,t(),
this.#t.repaint()}#r([t,i]){this.#n+=1;let n=this.#n,{window:e}=this.#t,[r,s]=[e.from,e.until],a=matchMedia("(\
prefers-reduced-motion: reduce)").matches,l=performance.now(),c=()=>{if(n!==this.#n)return;let d=a?1:Math.min(
1,(performance.now()-l)/220),m=1-(1-d)**3;e.show(r+(t-r)*m,s+(i-s)*m),this.#t.repaint(),d<1&&requestAnimationFrame(
c)};c()}};var S=46,K=class{#t;#e;#n;constructor(t,i,n){this.#t=t,this.#e=i,this.#n=n}paint(t,i){let{pen:n}=this.#t,{clients:e,
holds:r,violations:s,overlaps:a,faults:l}=this.#e;this.#t.begin(i,S);let c=m=>m/this.#e.activeUntil*i;n.fillStyle=
t.faint,n.beginPath(),n.roundRect(0,0,i,S,6),n.fill(),n.fillStyle=t.dangerBand;for(let{from:m,until:u}of a)n.fillRect(
c(m),0,Math.max(2,c(u)-c(m)),S);let d=Math.min(6,(S-16)/e.length);for(let{client:m,from:u,until:h}of r)n.fillStyle=
M(t,m),n.fillRect(c(u),9+m*d,Math.max(1,c(h)-c(u)),d-1);n.fillStyle=t.muted;for(let{from:m}of l)n.fillRect(c(m),
S-6,1.5,6);n.fillStyle=t.danger;for(let{at:m}of s)n.fillRect(c(m)-1,0,2.5,8);this.#i(t,c(this.#n.from),c(this.#n.
until),i)}#i(t,i,n,e){let{pen:r}=this.#t;r.fillStyle=t.ground,r.globalAlpha=.62,r.fillRect(0,0,i,S),r.fillRect(
n,0,Math.max(0,e-n),S),r.globalAlpha=1,r.strokeStyle=t.ink,r.lineWidth=1.5,r.beginPath();let s=Math.max(4,Math.
min(n,e)-i-1.5);r.roundRect(Math.min(i+.75,e-s-.75),.75,s,S-1.5,5),r.stroke()}time(t){return t/Math.max(1,this.#t.
element.clientWidth)*this.#e.activeUntil}};var yt=4,_=class{#t;#e;#n;#i;#o=new Map;#r=0;constructor(t,i,n,e){this.#t=t,this.#e=i,this.#n=n,this.#i=e;let{
element:r}=t.canvas;r.addEventListener("pointerdown",s=>this.#s(s)),r.addEventListener("pointermove",s=>this.#a(
s)),r.addEventListener("pointerup",s=>this.#l(s)),r.addEventListener("pointercancel",s=>this.#o.delete(s.pointerId)),
r.addEventListener("pointerleave",()=>this.leave()),r.addEventListener("wheel",s=>this.#d(s),{passive:!1})}leave(){
this.#n.hide(),this.#t.canvas.element.style.cursor="",this.#t.point(void 0,void 0)}#s(t){this.#o.size===0&&(this.#r=
0),this.#o.set(t.pointerId,t),this.#t.canvas.element.setPointerCapture(t.pointerId)}#a(t){let i=this.#o.get(t.
pointerId);if(!i){this.#m(t);return}let n=t.clientX-i.clientX;this.#r+=Math.abs(n);let[e]=[...this.#o.values()].
filter(({pointerId:r})=>r!==t.pointerId);this.#o.set(t.pointerId,t),e?this.#c(i,t,e):this.#r>yt&&(this.#n.hide(),
this.#e.pan(-n))}#l(t){this.#o.delete(t.pointerId),this.#r<=yt&&this.#m(t)}#c(t,i,n){let e=s=>Math.max(20,Math.
abs(s.clientX-n.clientX)),{left:r}=this.#t.canvas.element.getBoundingClientRect();this.#e.zoom(e(i)/e(t),(i.clientX+
n.clientX)/2-r)}#m(t){let{left:i,top:n}=this.#t.canvas.element.getBoundingClientRect(),[e,r]=[t.clientX-i,t.clientY-
n],s=this.#t.thingAt(e,r),{gutter:a,width:l}=this.#t.layout,c=e>=a&&e<=l;this.#t.canvas.element.style.cursor=s?
"pointer":"",this.#t.point(s,c?this.#t.window.time(e):void 0),s?this.#n.show(s.it,A(this.#i,s),t.clientX,t.clientY):
this.#n.hide()}#d(t){t.preventDefault();let{left:i}=this.#t.canvas.element.getBoundingClientRect(),n=[1,16,400][t.
deltaMode]??1,e=t.shiftKey?t.deltaX+t.deltaY:t.deltaX;Math.abs(e)>Math.abs(t.shiftKey?0:t.deltaY)?this.#e.pan(
e*n):this.#e.zoom(Math.exp(-t.deltaY*n/320),t.clientX-i),this.#m(t)}};var Y=class{#t;#e;#n;#i=0;#o=1;constructor(t){this.#t=Math.max(t,100),this.#e=0,this.#n=this.#t}get from(){return this.#e}get until(){
return this.#n}get end(){return this.#t}get scale(){return(this.#n-this.#e)/this.#o}place(t,i){this.#i=t,this.#o=
Math.max(1,i)}x(t){return this.#i+(t-this.#e)/this.scale}time(t){return this.#e+(t-this.#i)*this.scale}shows([
t,i]){return i>=this.#e&&t<=this.#n}edges(t,i){return[this.#r(this.x(t)),this.#r(this.x(i))]}show(t,i){let n=Math.
min(Math.max(i-t,100),this.#t),e=(t+i)/2;this.#e=Math.min(Math.max(0,e-n/2),this.#t-n),this.#n=this.#e+n}zoom(t,i){
let n=this.time(i),e=Math.min(Math.max((this.#n-this.#e)/t,100),this.#t),r=n-(i-this.#i)/this.#o*e;this.show(r,
r+e)}pan(t){let i=t*this.scale;this.show(this.#e+i,this.#n+i)}#r(t){return Math.min(Math.max(t,this.#i-10),this.#i+
this.#o+10)}};var X=class{#t;#e;constructor(t){this.#t=t}show(t,i,n,e){this.#e!==t&&(this.#e=t,this.#n(i),this.#t.hidden=!1),
this.#i(n,e)}hide(){this.#e=void 0,this.#t.hidden=!0}#n({title:t,lines:i,isDanger:n}){let e=document.createElement(
"strong");e.textContent=t;let r=document.createElement("dl");for(let[s,a]of i){let l=document.createElement("d\
t");l.textContent=s;let c=document.createElement("dd");c.textContent=a,r.append(l,c)}this.#t.classList.toggle(
"danger",n),this.#t.replaceChildren(e,r)}#i(t,i){let{offsetWidth:n,offsetHeight:e}=this.#t,[r,s]=[document.documentElement.
clientWidth,window.innerHeight],a=t+16+n>r-8?t-16-n:t+16,l=i+16+e>s-8?i-16-e:i+16,[c,d]=[Math.max(8,Math.min(a,
r-n-8)),Math.max(8,l)];this.#t.style.transform="translate(".concat(Math.round(c),"px, ").concat(Math.round(d),
"px)")}};function P(o){let t=document.getElementById(o);if(!t)throw new Error('this page has no element "'.concat(o,'"'));
return t}function bt(o){return new N(P(o))}function Qt(o,t){let i=n=>{o.textContent=n,setTimeout(()=>{o.textContent=
"Copy"},1500)};o.addEventListener("click",()=>{getSelection()?.selectAllChildren(t),(navigator.clipboard?.writeText(
t.textContent??"")??Promise.reject(new Error)).then(()=>i("Copied"),()=>i("Press Ctrl+C"))})}function Zt(o,t,i){
let{element:n}=o,e=r=>{let{left:s}=n.getBoundingClientRect();i.showAround(t.time(r.clientX-s))};n.addEventListener(
"pointerdown",r=>{n.setPointerCapture(r.pointerId),e(r)}),n.addEventListener("pointermove",r=>{r.buttons>0&&e(
r)})}function te(){let o=JSON.parse(P("picture").textContent??""),t=new Y(o.until),i=bt("overview"),n=new K(i,
o,t),e=new V(bt("chart"),n,o,t),r=new B(e,o),s=new X(P("tooltip")),a=new _(e,r,s,o),l=new z(e,r,s,o,P("spoken"));
Zt(i,n,r);let c=P("range");e.onPainted=()=>{c.textContent="".concat(g(t.from,0)," \u2013 ").concat(g(t.until,0))};
let d=(m,u)=>P(m).addEventListener("click",u);d("nearer",()=>r.zoom(1.6)),d("further",()=>r.zoom(1/1.6)),d("al\
l",()=>r.showAll()),d("next",()=>l.goToViolation(1)),d("previous",()=>l.goToViolation(-1));for(let m of document.
querySelectorAll("[data-violation]"))m.addEventListener("click",()=>{a.leave(),r.showViolation(Number(m.getAttribute(
"data-violation"))),e.canvas.element.scrollIntoView({block:"nearest"})});Qt(P("copy"),P("command")),new ResizeObserver(
()=>e.resize()).observe(e.canvas.element),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
()=>e.resize()),o.violations.length>0?r.showStory(0):r.showAll()}te();})();
`;

export const viewerStyle: string = `:root{color-scheme:light dark;--page: #f7f6f3;--panel: #ffffff;--ink: #1b2330;--muted: #566171;--line: #e3e1db;
--faint: #f3f2ee;--faint-ink: #b4bac3;--danger: #c2232d;--danger-soft: #fcebeb;--danger-band: rgba(206, 38, 50,
.16);--good: #14713d;--good-soft: #e6f4ea;--on-holder: #ffffff;--holder-0: #2f5fb3;--holder-1: #96590a;--holder-2:
#0e736a;--holder-3: #7c3d9c;--holder-4: #4a586a;--holder-5: #66690b;--shadow: 0 8px 28px rgba(20, 24, 32, .16);
font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica Neue,Noto Sans,Liberation Sans,Arial,sans-serif;
font-size:16px;line-height:1.5;color:var(--ink);background:var(--page)}@media(prefers-color-scheme:dark){:root{
--page: #12151a;--panel: #191d24;--ink: #e9ebee;--muted: #a4aebb;--line: #2d333d;--faint: #20252d;--faint-ink:
#545f6e;--danger: #ff7b7b;--danger-soft: #3a1e22;--danger-band: rgba(255, 92, 92, .2);--good: #6fd69a;--good-soft:
#16321f;--on-holder: #11151b;--holder-0: #82aef5;--holder-1: #eeb055;--holder-2: #52c8b8;--holder-3: #cf9fec;--holder-4:
#a9b5c4;--holder-5: #c8c95b;--shadow: 0 8px 28px rgba(0, 0, 0, .5)}}*{box-sizing:border-box}body{margin:0;padding:28px
clamp(12px,3vw,40px) 48px;-webkit-text-size-adjust:100%}header,main{max-width:1760px;margin:0 auto}.eyebrow{margin:0
0 2px;color:var(--muted);font-size:.9rem}h1{display:flex;flex-wrap:wrap;align-items:center;gap:6px 14px;margin:0;
font-size:clamp(1.6rem,3.4vw,2.2rem);font-weight:650;letter-spacing:-.015em;line-height:1.2}.verdict{padding:3px
13px 4px;border-radius:99px;font-size:1rem;font-weight:600;letter-spacing:0;color:var(--muted);background:var(--faint)}
.verdict.violated{color:var(--danger);background:var(--danger-soft)}.verdict.ok{color:var(--good);background:var(--good-soft)}
.facts{margin:8px 0 16px;color:var(--muted)}.replay{display:flex;flex-wrap:wrap;align-items:center;gap:8px 12px}
code{font-family:ui-monospace,SF Mono,Cascadia Mono,JetBrains Mono,Menlo,Consolas,Liberation Mono,monospace;font-size:.9rem}
.replay code{padding:7px 12px;border:1px solid var(--line);border-radius:8px;background:var(--panel);overflow-wrap:anywhere}
.replay .hash{color:var(--muted);font-size:.9rem}button{min-height:36px;padding:5px 13px;border:1px solid var(--line);
border-radius:8px;font:inherit;font-size:.92rem;color:var(--ink);background:var(--panel);cursor:pointer}button:disabled{
color:var(--muted);opacity:.55;cursor:default}button:hover:enabled{background:var(--faint)}button:focus-visible,
canvas:focus-visible,summary:focus-visible{outline:2.5px solid var(--holder-0);outline-offset:2px}.violations{
margin-top:22px}h2{margin:0 0 8px;font-size:1.05rem;font-weight:650}.violations ol{display:grid;gap:6px;margin:0;
padding:0;list-style:none}.violations button{display:grid;grid-template-columns:8.5em 5.5em 1fr;gap:2px 14px;width:100%;
padding:8px 14px;text-align:left;border-left:4px solid var(--danger)}.violations time{color:var(--muted);font-variant-numeric:tabular-nums}
.violations b{font-weight:650;color:var(--danger)}.violations i{font-style:normal;color:var(--muted)}.violations
summary{padding:6px 2px;color:var(--muted);cursor:pointer}.violations details ol{margin-top:6px}.stage{margin-top:26px;
padding:14px 18px 10px;border:1px solid var(--line);border-radius:14px;background:var(--panel)}.toolbar{display:flex;
flex-wrap:wrap;align-items:center;gap:8px;margin-bottom:12px}.toolbar #range{margin-left:auto;color:var(--muted);
font-variant-numeric:tabular-nums}.toolbar .square{width:38px;padding:0;font-size:1.15rem;line-height:1}canvas{
display:block;width:100%;border-radius:6px}#overview{height:46px;margin-bottom:6px;cursor:ew-resize;touch-action:none}
#chart{touch-action:pan-y;cursor:grab}#chart:active{cursor:grabbing}.legend{display:flex;flex-wrap:wrap;gap:6px
22px;margin:2px 2px 12px;padding:0;list-style:none;color:var(--muted);font-size:.9rem}.legend li{display:flex;
align-items:center;gap:9px}.legend svg{flex:none}.keys{margin:10px 2px 4px;color:var(--muted);font-size:.9rem}
kbd{padding:0 6px 1px;border:1px solid var(--line);border-radius:5px;font:inherit;color:var(--ink);background:var(--faint)}
#tooltip{position:fixed;z-index:10;top:0;left:0;max-width:min(440px,calc(100vw - 16px));padding:11px 15px 12px;
border:1px solid var(--line);border-radius:10px;font-size:.92rem;line-height:1.42;background:var(--panel);box-shadow:var(--shadow);
pointer-events:none}#tooltip[hidden]{display:none}#tooltip strong{display:block;margin-bottom:5px;font-weight:650}
#tooltip.danger strong{color:var(--danger)}#tooltip dl{display:grid;grid-template-columns:auto 1fr;gap:2px 14px;
margin:0}#tooltip dt{color:var(--muted)}#tooltip dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}@media(max-width:720px){
body{padding-top:18px}.stage{margin-inline:-6px;padding:12px 10px 8px}.violations button{grid-template-columns:auto
1fr}.violations button span{grid-column:1 / -1}.toolbar #range{width:100%;margin-left:0}.keys{display:none}}
`;
